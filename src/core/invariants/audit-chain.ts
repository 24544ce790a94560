import { type ChainedEntry, type ChainHead, chainedText } from '../audit.ts'
import type { OrganizationId } from '../id.ts'
import type { Invariant } from './record.ts'

/** A page of the audit log of one organization, oldest first, with what came before it. */
export type AuditRecord = {
  organizationId: OrganizationId
  entries: ChainedEntry[]
  before: ChainHead
  /** On the last page: the stored head of the chain, read at the same moment. */
  head?: ChainHead | 'missing'
  digest(text: string): string
}

export const auditChain: Invariant<AuditRecord> = {
  id: 'I35',
  name: 'audit chain',
  sentence: 'Each entry of an audit log has the hash of itself and of the entry before it, without a gap.',
  promise: 'nothing is hidden',
  check({ entries, before, head, digest }) {
    const faults: string[] = []
    let last = before
    for (const entry of entries) {
      const sequence = entry.sequence ?? 0
      const missing = sequence - last.sequence - 1
      if (missing > 0)
        faults.push(`${missing} ${missing === 1 ? 'entry is' : 'entries are'} missing before ${entry.id}`)
      else if (missing < 0) faults.push(`${entry.id} is at the place of another entry`)
      else if (entry.hash !== digest(chainedText(entry, last)))
        faults.push(`${entry.id} was changed after it was written`)
      last = { sequence, hash: entry.hash ?? '' }
    }
    if (head === 'missing') faults.push('the end of the chain is not recorded')
    else if (head && head.sequence > last.sequence)
      faults.push(`the last ${head.sequence - last.sequence} of ${head.sequence} entries are missing`)
    else if (head && (head.sequence !== last.sequence || head.hash !== last.hash))
      faults.push('the recorded end of the chain is not that of its last entry')
    return faults
  },
}
