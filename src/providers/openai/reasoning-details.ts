/** A thought as aggregators pass it on: text, a summary or something only its maker can read. */
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

/** The details as one signature, if any of them is signed or encrypted: plain thoughts are kept as text already. */
export function signatureOf(pieces: readonly Detail[]): string | undefined {
  if (!pieces.some((piece) => piece.signature || piece.data)) return undefined
  return JSON.stringify(joined(pieces))
}

export function detailsOf(signature: string): Detail[] {
  try {
    const details: unknown = JSON.parse(signature)
    return Array.isArray(details) ? details : []
  } catch {
    // Not a list of details, so not from a server that sends them: nothing to replay.
    return []
  }
}

const GROWING = new Set<string>(['text', 'summary', 'data'] satisfies (keyof Detail)[])

/** Details come in pieces, as text does: neighbors of one index and type are one. */
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
