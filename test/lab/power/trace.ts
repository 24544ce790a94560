/** Writes, fsyncs and marks of a traced process, in the order of the system calls. */
export type TraceEntry = { type: 'written' } | { type: 'synced' } | { type: 'marked'; what: string }

/** Parses the lines of `strace -f -y`. A call that another thread interrupts takes two lines. */
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

/** Marks that were made before all earlier writes were on disk. */
export function markedTooEarly(deeds: readonly TraceEntry[]): string[] {
  const early: string[] = []
  let unsynced = 0
  for (const [index, deed] of deeds.entries()) {
    if (deed.type === 'written') unsynced++
    else if (deed.type === 'synced') unsynced = 0
    else if (unsynced > 0) early.push(`"${deed.what}" (${index}) was reported with ${unsynced} writes not yet on disk`)
  }
  return early
}

/** How many marks of a kind follow at least one write since the last mark. */
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
