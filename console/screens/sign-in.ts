import { useSignal } from '@preact/signals'
import { html } from '../html.ts'
import { signIn } from '../session.ts'

export function SignInScreen({ reason }: { reason?: string }) {
  const fault = useSignal<string | undefined>(undefined)
  const isBusy = useSignal(false)
  async function onSubmit(event: SubmitEvent): Promise<void> {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    const key = new FormData(form).get('key') as string
    isBusy.value = true
    const failure = await signIn(key)
    isBusy.value = false
    fault.value = failure?.detail
  }
  return html`
    <main class="sign-in">
      <h1>Holdfast</h1>
      <form onSubmit=${onSubmit}>
        <label for="key">API key</label>
        <input id="key" name="key" type="password" autocomplete="current-password" required autofocus />
        <button class="primary" disabled=${isBusy.value}>Sign in</button>
        ${(fault.value ?? reason) && html`<p class="fault" role="alert">${fault.value ?? reason}</p>`}
      </form>
      <p class="hint">
        On the machine of the server, <code>holdfast console</code> prints a link that signs in. The key of the home is in the
        file <code>api-key</code> of its folder.
      </p>
    </main>
  `
}
