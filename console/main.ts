import { render } from 'preact'
import { html } from './html.ts'
import { restoreSession } from './session.ts'
import { Shell } from './shell.ts'

const page = document.getElementById('page')!
page.textContent = ''
render(html`<${Shell} />`, page)
void restoreSession()
