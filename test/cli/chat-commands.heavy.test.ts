import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { holdfast, newHome, startServing } from './holdfast.ts'

const WAYS = ['without a server', 'through the server'] as const

describe('the commands of a chat', { concurrency: 2 }, () => {
  for (const way of WAYS)
    test(`${way}: conversations, models, effort, cost, memory, tools and an export`, async (context) => {
      const home = newHome(context)
      const server = way === 'through the server' ? await startServing(home) : undefined
      const file = join(home, 'export.md')
      const input = [
        'remember that Ada likes tea',
        '/new',
        'hello there',
        '/conversations',
        '/switch ada likes',
        '/switch nothing like it',
        '/model scripted/other',
        '/model',
        'hello to another model',
        '/model nonsense',
        '/model openai9/gpt',
        '/model default',
        '/reasoning high',
        '/reasoning sideways',
        'what do you remember',
        '/status',
        '/tools',
        '/memory',
        '/cost',
        `/export ${file}`,
        `/export ${file}`,
        '/stop',
        '/approve',
        '/help',
      ].join('\n')
      const { code, stdout, stderr } = await holdfast(['chat'], { home, input })
      assert.equal(code, 0, stderr)
      for (const expected of [
        /Started a new conversation\. The old one is kept, and its processes end: \/switch conv-[0-9a-f-]+ returns to it\./,
        /● {2}1 {2}conv-[0-9a-f-]+ .* ago {2}hello there\n {3}2 {2}conv-[0-9a-f-]+ .* ago {2}remember that Ada likes tea/,
        /2 conversations\. \/switch N continues one of them\./,
        /This conversation uses scripted\/other from its next turn on\. Others of assistant keep theirs\./,
        /✗ .*\(there is no model scripted\/other/,
        /scripted\/other \(this conversation; assistant has scripted\/friendly\)/,
        /uses the model of assistant again from its next turn on: scripted\/friendly\./,
        /ask for reasoning: high/,
        /This is in my notebook:\n- Ada likes tea/,
        /reasoning {5}high/,
        /send_postcard \(asks for approval\): /,
        /assistant has no memory blocks\./,
        /this conversation {2}\d+ \+ \d+ tokens · 3 runs\n {2}today, all agents {2}\d+ \+ \d+ tokens · 4 runs/,
        /Wrote \d+ messages to .*export\.md\./,
        /No turn is running\./,
        /Nothing waits for approval in this conversation\./,
        /\/deny \[reason\]/,
      ])
        assert.match(stdout, expected)
      for (const expected of [
        /There is no conversation "nothing like it"\. \/conversations lists them\./,
        /"nonsense" is not a model handle\. Write provider\/model/,
        /Handle openai9\/gpt not found, must be one of \[/,
        /"sideways" is not a reasoning effort\. Use one of: off, minimal/,
        /export\.md exists already\. Name another file/,
      ])
        assert.match(stderr, expected)
      assert.equal(statSync(file).mode & 0o777, 0o600)
      assert.match(readFileSync(file, 'utf8'), /^# remember that Ada likes tea\n.*## You · .*\*\*write_note\*\*/s)
      const [run] = JSON.parse((await holdfast(['runs', '--json'], { home })).stdout) as { run_id: string }[]
      assert.match((await holdfast(['runs', 'show', run!.run_id, '--json'], { home })).stdout, /"effort": "high"/)
      server?.child.kill('SIGTERM')
      await server?.ended
    })

  test('an approval is answered by a line of a script, and a denial has its reason', async (context) => {
    const home = newHome(context)
    const input = 'send a postcard to Ada saying hi\n/deny not today\nforget everything\n/approve\n'
    const { code, stdout } = await holdfast(['chat'], { home, input })
    assert.equal(code, 0)
    assert.match(stdout, /Denied: a person declined this call\. Reason: not today\. It did not run\./)
    assert.match(stdout, /✓ erase_notes/)
  })
})
