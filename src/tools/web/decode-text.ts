/** The text of a response: by its byte order mark, its header, its `<meta charset>`, otherwise as UTF-8. */
export function decodeText(bytes: Uint8Array, contentType: string): string {
  const label = bomOf(bytes) ?? charsetOf(contentType) ?? metaCharset(bytes) ?? 'utf-8'
  try {
    return new TextDecoder(label).decode(bytes)
  } catch (error) {
    if (error instanceof RangeError) return new TextDecoder().decode(bytes)
    throw error
  }
}

function bomOf([first, second]: Uint8Array): string | undefined {
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  return undefined
}

/** Browsers look for it in the first kilobyte. */
const metaCharset = (bytes: Uint8Array): string | undefined =>
  charsetOf(new TextDecoder('latin1').decode(bytes.subarray(0, 1_024)))

const charsetOf = (text: string): string | undefined => /charset=["']?([\w:.-]{1,40})/i.exec(text)?.[1]
