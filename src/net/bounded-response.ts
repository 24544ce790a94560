/** The same answer, ended with a fault where it grows too long. */
export function limitResponse(response: Response, { url, maxBytes }: { url: string; maxBytes: number }): Response {
  const { status, statusText, headers, body } = response
  const same = new Response(body?.pipeThrough(limitBytes(maxBytes)), { status, statusText, headers })
  // Where it came from in the end; a made response has no address of its own.
  Object.defineProperty(same, 'url', { value: url })
  return same
}

function limitBytes(maxBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0
  return new TransformStream({
    transform(piece, out) {
      bytes += piece.byteLength
      if (bytes > maxBytes) out.error(new Error(`the answer is longer than ${maxBytes} bytes`))
      else out.enqueue(piece)
    },
  })
}
