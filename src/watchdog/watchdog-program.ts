/** Positions in the shared numbers. */
export const BEATS = 0
export const NOTES = 1
export const SHARED_NUMBERS = 2
/** The last notes, oldest overwritten first; a longer one is cut. */
export const NOTE_COUNT = 8
export const NOTE_BYTES = 160

/** What the thread is given. */
export type WatchdogData = { shared: SharedArrayBuffer; tickMs: number; seconds: number; file: string }

/**
 * The thread, as source text, so that bundling does not matter. It counts its own ticks and not the clock: while the
 * process or the machine is paused, it is paused too. Of a tick, the time in which the main thread waited for a processor
 * does not count: on a busy machine it is slow and not frozen (Linux tells that time; elsewhere it is 0). Nothing in it waits for the main thread: it writes with calls of
 * `fs`, because `console` of a thread goes through the main thread.
 */
export const PROGRAM = `
const { workerData } = require('node:worker_threads')
const { readFileSync, writeSync, openSync, fsyncSync, closeSync } = require('node:fs')
const { shared, tickMs, seconds, file } = workerData
const numbers = new Int32Array(shared, 0, ${SHARED_NUMBERS})
const notes = Buffer.from(shared, ${SHARED_NUMBERS * 4})

let seen = -1
let stillMs = 0
let waitedBefore = 0
const timer = setInterval(() => {
  const beats = Atomics.load(numbers, ${BEATS})
  const waited = msWaitedForProcessor()
  if (beats === seen) stillMs += Math.max(0, tickMs - (waited - waitedBefore))
  else stillMs = 0
  seen = beats
  waitedBefore = waited
  if (stillMs < seconds * 1_000) return
  clearInterval(timer)
  findStack(end)
}, tickMs)

function msWaitedForProcessor() {
  try {
    return Number(readFileSync('/proc/self/task/' + process.pid + '/schedstat', 'utf8').split(' ')[1]) / 1e6 || 0
  } catch {
    // No such file on this system.
    return 0
  }
}

// The debugger stops JavaScript wherever it is, also inside a regular expression; only native code does not stop.
function findStack(done) {
  const wait = setTimeout(() => done([]), 2_000)
  try {
    const { Session } = require('node:inspector')
    const scripts = new Map()
    const session = new Session()
    session.connectToMainThread()
    session.on('Debugger.scriptParsed', ({ params }) => scripts.set(params.scriptId, params.url))
    session.once('Debugger.paused', ({ params }) => {
      clearTimeout(wait)
      done(params.callFrames.slice(0, 12).map(({ functionName, location }) => {
        const name = String(scripts.get(location.scriptId) || 'unknown file').split('/').slice(-3).join('/')
        return (functionName || 'anonymous') + ' (' + name + ':' + (location.lineNumber + 1) + ')'
      }))
    })
    session.post('Debugger.enable', () => session.post('Debugger.pause'))
  } catch {
    // Without the inspector the notes alone say what ran.
  }
}

function lastNotes() {
  const count = Atomics.load(numbers, ${NOTES})
  const found = []
  for (let number = count - 1; number >= 0 && number >= count - ${NOTE_COUNT}; number--) {
    const start = (number % ${NOTE_COUNT}) * ${NOTE_BYTES}
    found.push(notes.toString('utf8', start, start + ${NOTE_BYTES}).replace(/\\0[^]*$/, ''))
  }
  return found
}

function end(stack) {
  const record = { at: Date.now(), seconds, pid: process.pid, stack, lastNotes: lastNotes() }
  try {
    writeSync(2, 'The event loop stood still for ' + seconds + ' s, so the watchdog ends this process. It was in ' +
      (stack[0] || 'native code') + '; last begun: ' + (record.lastNotes[0] || 'nothing') + '.\\n')
  } catch {
    // A closed stderr must not keep the process alive.
  }
  try {
    const descriptor = openSync(file, 'w', 0o600)
    writeSync(descriptor, JSON.stringify(record) + '\\n')
    fsyncSync(descriptor)
    closeSync(descriptor)
  } catch {
    // A full disk must not keep the process alive.
  }
  process.kill(process.pid, 'SIGKILL')
}
`
