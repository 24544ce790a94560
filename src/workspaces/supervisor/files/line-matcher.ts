import { Worker } from 'node:worker_threads'
import type { GlobPattern } from './glob.ts'
import type { SearchPattern } from './search-pattern.ts'

type MatchedLine = { line: number; text: string; at: number }

/**
 * Matches in a worker thread, which is terminated at the deadline, so that an expression that backtracks forever blocks
 * nothing. Every later answer is undefined.
 */
export type LineMatcher = {
  /** Which of these paths the glob includes: files, or folders to enter. */
  select(paths: string[], kind: 'files' | 'folders'): Promise<boolean[] | undefined>
  lines(text: string, most: number): Promise<MatchedLine[] | undefined>
  end(): Promise<void>
}

type LineMatcherOptions = { pattern: SearchPattern; glob: GlobPattern | undefined; timeoutMs: number }

/** Source text, so that bundling does not matter. For a very long line, only the part around the match is returned. */
const PROGRAM = `
const { parentPort, workerData } = require('node:worker_threads')
const pattern = new RegExp(workerData.pattern.source, workerData.pattern.flags)
// If the whole text has no match, no line has one; this check is much faster.
const anywhere = workerData.pattern.looksAround ? /(?:)/ : new RegExp(pattern.source, pattern.flags + 'm')
const glob = workerData.glob && new RegExp(workerData.glob.source, workerData.glob.flags)
const AROUND = 1000

const select = ({ paths, kind }) => paths.map((path) => {
  if (!glob) return true
  if (workerData.glob.isNegative) return !glob.test(path)
  return kind === 'folders' || glob.test(path)
})

const lines = ({ text, most }) => {
  const found = []
  if (!anywhere.test(text)) return found
  let number = 0
  for (let start = 0; start < text.length && found.length < most; ) {
    const feed = text.indexOf('\\n', start)
    const end = feed === -1 ? text.length : feed
    const line = text.slice(start, end > start && text[end - 1] === '\\r' ? end - 1 : end)
    number += 1
    start = end + 1
    const match = pattern.exec(line)
    if (!match) continue
    const from = line.length > 2 * AROUND ? Math.max(0, match.index - AROUND) : 0
    const part = line.length > 2 * AROUND ? line.slice(from, match.index + AROUND) : line
    found.push({ line: number, text: part, at: match.index - from })
  }
  return found
}

parentPort.on('message', (question) => parentPort.postMessage(question.paths ? select(question) : lines(question)))
`

export function newLineMatcher({ pattern, glob, timeoutMs }: LineMatcherOptions): LineMatcher {
  const worker = new Worker(PROGRAM, {
    eval: true,
    workerData: { pattern, glob },
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 128 },
  })
  const waiting: ((answer: unknown) => void)[] = []
  let isOver = false
  const abort = () => {
    isOver = true
    for (const settle of waiting.splice(0)) settle(undefined)
    void worker.terminate()
  }
  const timer = setTimeout(abort, timeoutMs)
  worker.on('message', (answer) => waiting.shift()?.(answer))
  // Out of memory, for example.
  worker.on('error', abort)
  worker.on('exit', abort)

  const ask = <T>(question: object): Promise<T | undefined> => {
    if (isOver) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      waiting.push(resolve as (answer: unknown) => void)
      worker.postMessage(question)
    })
  }
  return {
    select: (paths, kind) => ask<boolean[]>({ paths, kind }),
    lines: (text, most) => ask<MatchedLine[]>({ text, most }),
    async end() {
      clearTimeout(timer)
      isOver = true
      await worker.terminate()
    },
  }
}
