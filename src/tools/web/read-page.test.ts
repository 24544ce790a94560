import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readPage } from './read-page.ts'

const bytesOf = (text: string) => new TextEncoder().encode(text)
const URL_OF_PAGE = 'https://example.com/blog/post'

async function markdownOf(html: string): Promise<string> {
  const page = await readPage({ url: URL_OF_PAGE, contentType: 'text/html', bytes: bytesOf(html) })
  return 'fault' in page ? page.fault : page.text
}

const FILLER = 'This sentence, like the others, makes the article long enough to be its content. '.repeat(8)

test('the content of a page is read without its menus, scripts, notices and footer', async () => {
  const text =
    await markdownOf(`<!doctype html><html><head><title>The  post</title><script>alert(1)</script></head><body>
    <header><a href="/">Home</a></header><nav><ul><li><a href="/a">A</a></li></ul></nav>
    <div class="cookie-banner">We use cookies</div>
    <div id="x"><h1>The post</h1><p>${FILLER}</p><p hidden>unseen</p><p>The <b>end</b> of it.</p></div>
    <aside>Related</aside><footer>Copyright</footer></body></html>`)
  assert.equal(text, `# The post\n\n${FILLER.trim()}\n\nThe **end** of it.`)
})

test('a page without a heading begins with its title', async () => {
  assert.equal(await markdownOf(`<title>T</title><main><p>${FILLER}</p></main>`), `# T\n\n${FILLER.trim()}`)
})

test('lists, code, tables, quotes, images and links become Markdown, with absolute addresses', async () => {
  const text = await markdownOf(`<main><h2>Steps &amp; more</h2>
    <ol start="3"><li>One <i>word</i></li><li>Two<ul><li>inner</li></ul></li></ol>
    <pre><code class="language-ts">const a = 1 &lt; 2\n  b()</code></pre>
    <blockquote><p>Said</p></blockquote>
    <table><thead><tr><th>a</th><th>b|c</th></tr></thead><tr><td>1</td><td><p>2</p></td></tr></table>
    <p><a href="../x?q=1">there</a>, <a href="javascript:alert(1)">here</a>, <img src="/i.png" alt="a cat"></p><hr><p>${FILLER}</p></main>`)
  assert.equal(
    text,
    [
      '## Steps & more',
      '3. One *word*\n4. Two\n   - inner',
      '```ts\nconst a = 1 < 2\n  b()\n```',
      '> Said',
      '| a | b\\|c |\n| --- | --- |\n| 1 | 2 |',
      '[there](https://example.com/x?q=1), here, ![a cat](https://example.com/i.png)',
      '---',
      FILLER.trim(),
    ].join('\n\n'),
  )
})

test('text is decoded by its header, its meta element or its byte order mark', async () => {
  const latin = Buffer.from(`<p>caf\u00e9 ${FILLER}</p>`, 'latin1')
  const read = async (contentType: string, bytes: Uint8Array) => {
    const page = await readPage({ url: URL_OF_PAGE, contentType, bytes })
    return 'text' in page ? page.text.slice(0, 4) : page.fault
  }
  assert.equal(await read('text/html; charset=iso-8859-1', latin), 'café')
  assert.equal(await read('text/html', Buffer.concat([Buffer.from('<meta charset="latin1">'), latin])), 'café')
  assert.equal(await read('text/plain; charset=nonsense', bytesOf('café')), 'café')
  assert.equal(
    await read('text/plain', Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('café', 'utf16le')])),
    'café',
  )
})

test('JSON is indented, other text stays, and what is no text is named', async () => {
  const read = (contentType: string, text: string) => readPage({ url: URL_OF_PAGE, contentType, bytes: bytesOf(text) })
  assert.deepEqual(await read('application/json', '{"a":[1]}'), { title: '', text: '{\n "a": [\n  1\n ]\n}' })
  assert.deepEqual(await read('application/json', '{"a":'), { title: '', text: '{"a":' })
  assert.deepEqual(await read('', '<!DOCTYPE html><p>x'), { title: '', text: 'x' })
  assert.deepEqual(await read('image/png', 'x'), { fault: 'It is image/png, which cannot be read as text.' })
  assert.deepEqual(await read('text/html', '<script>1</script>'), { fault: 'It has no text without JavaScript.' })
})

test('a PDF is read page by page, and a broken one is named', async () => {
  const page = await readPage({ url: URL_OF_PAGE, contentType: 'application/pdf', bytes: pdfWith('Hello from a file') })
  assert.deepEqual(page, { title: '', text: '[page 1]\nHello from a file' })
  const broken = await readPage({
    url: URL_OF_PAGE,
    contentType: 'application/pdf',
    bytes: bytesOf('%PDF-1.4 nothing'),
  })
  assert.match('fault' in broken ? broken.fault : '', /^It is a PDF that cannot be read: /)
})

/** The work for a page grows with its length and not faster, also where pages are made to be slow. */
test('no page makes its reader work more than in proportion to its length', async () => {
  const hostile: Record<string, (times: number) => string> = {
    'open elements': (times) => '<div>'.repeat(times),
    'open links': (times) => '<a href=x>'.repeat(times),
    'nested lists': (times) => `${'<ul><li>'.repeat(Math.min(times, 150))}${'x '.repeat(times)}`,
    headers: (times) => '<header><p>text</p>'.repeat(times),
    'spaces in code': (times) => `<pre>${' '.repeat(times * 8)}x</pre>`,
    'line breaks': (times) => `<p>x${'<br> '.repeat(times)}</p>`,
    'unclosed tags': (times) => '<'.repeat(times * 8),
    'broken entities': (times) => '&#x'.repeat(times * 3),
    attributes: (times) => `<p ${'a=b '.repeat(times)}>x</p>`,
    rows: (times) => `<table>${'<tr><td>a<td>b'.repeat(times)}</table>`,
  }
  for (const [name, make] of Object.entries(hostile)) {
    /** The least of three: other tests of this process and its garbage collector share the processor time. */
    const costOf = async (times: number) => {
      const html = make(times)
      const costs: number[] = []
      for (let round = 0; round < 3; round++) {
        const before = process.cpuUsage()
        await markdownOf(html)
        costs.push(process.cpuUsage(before).user / 1_000)
      }
      return Math.min(...costs)
    }
    const small = await costOf(10_000)
    const large = await costOf(40_000)
    assert.ok(large < 12 * small + 150, `${name}: ${small} ms, ${large} ms for four times as much`)
  }
})

function pdfWith(text: string): Uint8Array {
  const stream = `BT /F1 24 Tf 72 700 Td (${text}) Tj ET`
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ]
  let body = '%PDF-1.4\n'
  const offsets = objects.map((object, index) => {
    const offset = body.length
    body += `${index + 1} 0 obj\n${object}\nendobj\n`
    return offset
  })
  const rows = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('')
  const end = `xref\n0 6\n0000000000 65535 f \n${rows}trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n${body.length}\n%%EOF`
  return bytesOf(body + end)
}
