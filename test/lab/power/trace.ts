/** What a traced process did to its write-ahead log, and what it promised, in the order the kernel saw it. */
export type TraceEntry = { type: 'written' } | { type: 'synced' } | { type: 'marked'; what: string }

/** Reads the lines of `strace -f -y`. A call that another thread interrupts is told in two lines. */
export function readTrace(text: string): TraceEntry[] {
  const syncing = new Set<string>()
  return text.split('\n').flatMap((line): TraceEntry[] => {
    const [, thread = '', call = ''] = /^(\d+)\s+(.*)$/.exec(line) ?? []
    const mark = /^write\(1<.*"mark ([^\\"]+)/.exec(call)
    if (mark) return [{ type: 'marked', what: mark[1]! }]
    if (/^pwrite64\(\d+<.*holdfast\.db-wal>/.test(call)) return [{ type: 'written' }]
    if (/^f(data)?sync\(\d+<.*holdfast\.db-wal>/.test(call)) {
      if (/= 0$/.test(call)) return [{ type: 'synced' }]
      syncing.add(thread)
    }
    if (/^<\.\.\. f(data)?sync resumed>.*= 0$/.test(call) && syncing.delete(thread)) return [{ type: 'synced' }]
    return []
  })
}

/** Marks that were made while something written was not yet on disk. */
export function markedTooEarly(deeds: readonly TraceEntry[]): string[] {
  const early: string[] = []
  let unsynced = 0
  for (const [index, deed] of deeds.entries()) {
    if (deed.type === 'written') unsynced++
    else if (deed.type === 'synced') unsynced = 0
    else if (unsynced > 0) early.push(`"${deed.what}" (${index}) was told with ${unsynced} writes not yet on disk`)
  }
  return early
}

/** How many marks of a kind had a write of their own since the last mark. */
export function marksAfterWrites(deeds: readonly TraceEntry[], what: string): number {
  let written = false
  let count = 0
  for (const deed of deeds) {
    if (deed.type === 'written') written = true
    if (deed.type !== 'marked') continue
    if (deed.what === what && written) count++
    written = false
  }
  return count
}
