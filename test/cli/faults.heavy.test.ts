import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { takeOwnerLock } from '../../src/storage/database/owner-lock.ts'
import { holdfast, newHome, startHoldfast } from './holdfast.ts'

const UNKNOWN = 'run-00000000-0000-4000-8000-000000000000'

const MISTAKES: { args: string[]; code: number; sentence: RegExp }[] = [
  { args: ['run', 'hello', '--wat'], code: 2, sentence: /unknown option '--wat'/ },
  { args: ['rum', 'hello'], code: 2, sentence: /unknown command 'rum'\n\(Did you mean run\?\)/ },
  { args: ['run'], code: 2, sentence: /missing required argument 'message'/ },
  { args: ['run', ' '], code: 2, sentence: /A message must have some text/ },
  {
    args: ['runs', 'list', '--limit', 'many'],
    code: 2,
    sentence: /--limit must be a whole number from 1 to 1000, not "many"/,
  },
  { args: ['agents', 'create', 'ada', '--model', 'nonsense'], code: 2, sentence: /not a model handle/ },
  {
    args: ['agents', 'create', 'ada', '--tool', 'hammer'],
    code: 2,
    sentence: /Tools not found by name: "hammer"\./,
  },
  {
    args: ['agents', 'create', 'ada', '--model', 'foo/bar'],
    code: 3,
    sentence: /Handle foo\/bar not found, must be one of/,
  },
  {
    args: ['agents', 'forget'],
    code: 2,
    sentence: /There is no command "agents forget"\. Commands: list, create, update/,
  },
  { args: ['agents', 'show', 'nobody'], code: 3, sentence: /There is no agent "nobody"/ },
  { args: ['chat', '--agent', 'nobody'], code: 3, sentence: /There is no agent "nobody"/ },
  { args: ['runs', 'show', UNKNOWN], code: 3, sentence: /There is no run/ },
  { args: ['runs', 'cancel', 'run-1'], code: 3, sentence: /There is no run "run-1"/ },
  { args: ['approvals', 'approve', UNKNOWN], code: 3, sentence: /There is no run/ },
]

// Each test has its own home and mostly waits for the model: running them concurrently takes a third of the time.
describe('holdfast with mistakes', { concurrency: 4 }, () => {
  test('every mistake prints one clear sentence, has its own exit code and no stack trace', async (context) => {
    const home = newHome(context)
    const made = MISTAKES.map(({ args }, index) => holdfast(args, { home: `${home}/${index}` }))
    for (const [index, { args, code, sentence }] of MISTAKES.entries()) {
      const ended = await made[index]!
      const what = `holdfast ${args.join(' ')}: ${ended.stderr}`
      assert.equal(ended.code, code, what)
      assert.match(ended.stderr, sentence, what)
      assert.match(ended.stderr, /^holdfast: /, what)
      assert.doesNotMatch(ended.stderr, /\n\s+at /, what)
      assert.equal(ended.stdout, '', what)
    }
  })

  test('a home that was never used is empty, not broken', async (context) => {
    const home = newHome(context)
    const asked = ['runs', 'agents', 'approvals', 'doctor']
    const answers = await Promise.all(asked.map((command) => holdfast([command], { home: `${home}/${command}` })))
    for (const { code, stderr } of answers) assert.deepEqual([code, stderr], [0, ''])
    const [runs, agents, approvals, doctor] = answers.map(({ stdout }) => stdout)
    assert.match(runs!, /No runs yet/)
    assert.match(agents!, /No agents yet/)
    assert.match(approvals!, /No pending approvals/)
    assert.match(doctor!, /Every invariant holds/)
  })

  test('a command reports that the running server is an older version', async (context) => {
    const home = newHome(context)
    await holdfast(['agents', 'create', 'ada'], { home })
    // An older server: it owns the home, and its schema lacks the newest migration.
    const lock = takeOwnerLock(join(home, 'owner.lock'), home)
    context.after(() => lock.release())
    const database = new DatabaseSync(join(home, 'holdfast.db'))
    database.exec(`delete from migrations where track = 'store' and number = (select max(number) from migrations)`)
    database.close()
    const { code, stderr } = await holdfast(['agents'], { home })
    assert.notEqual(code, 0)
    assert.match(stderr, /was written by an older Holdfast\. Stop the server and start this version/)
  })

  test('a home that is in use is named with the process that uses it', async (context) => {
    const home = newHome(context)
    await holdfast(['agents', 'create', 'ada'], { home })
    const chat = startHoldfast(['chat'], { home })
    await chat.waitForText('/help lists the commands')
    const { code, stderr } = await holdfast(['serve', '--port', '0'], { home })
    assert.equal(code, 5, stderr)
    assert.match(stderr, new RegExp(`in use by another Holdfast process \\(pid ${chat.child.pid}, `))
    assert.match(stderr, /chat`\); only `.*` can be used over HTTP\. Stop that process first/)
    chat.child.stdin.end()
    await chat.ended
  })

  test('without a command the help is printed, and --version prints the version', async (context) => {
    const home = newHome(context)
    const help = await holdfast([], { home })
    assert.equal(help.code, 0)
    assert.match(help.stdout, /Usage: holdfast/)
    const { code, stdout } = await holdfast(['--version'], { home })
    assert.equal(code, 0)
    assert.match(stdout, /^\d+\.\d+\.\d+\n$/)
  })
})
