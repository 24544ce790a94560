/** A thought as aggregators relay it: text, a summary or data encrypted by its vendor. */
export type Detail = {
  type?: string
  index?: number
  id?: string | null
  format?: string | null
  text?: string | null
  summary?: string | null
  data?: string | null
  signature?: string | null
}

/** Packs the details into one signature if any of them is signed or encrypted; plain thoughts are stored as text. */
export function signatureOf(pieces: readonly Detail[]): string | undefined {
  if (!pieces.some((piece) => piece.signature || piece.data)) return undefined
  return JSON.stringify(joined(pieces))
}

export function detailsOf(signature: string): Detail[] {
  try {
    const details: unknown = JSON.parse(signature)
    return Array.isArray(details) ? details : []
  } catch {
    // The signature is not a list of details, so there is nothing to replay.
    return []
  }
}

const GROWING = new Set<string>(['text', 'summary', 'data'] satisfies (keyof Detail)[])

/** Details stream in pieces: adjacent pieces with the same index and type are joined. */
function joined(pieces: readonly Detail[]): Detail[] {
  const details: Detail[] = []
  for (const piece of pieces) {
    const last = details.at(-1)
    if (last && last.type === piece.type && last.index === piece.index) grow(last, piece)
    else details.push({ ...piece })
  }
  return details
}

function grow(detail: Record<string, unknown>, piece: Record<string, unknown>): void {
  for (const [key, value] of Object.entries(piece)) {
    if (value === null || value === undefined) continue
    detail[key] = GROWING.has(key) ? `${detail[key] ?? ''}${value}` : value
  }
}
