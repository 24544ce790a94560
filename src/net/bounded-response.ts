/** Limits a response: reading its body fails after `maxBytes`. */
export function limitResponse(response: Response, { url, maxBytes }: { url: string; maxBytes: number }): Response {
  const { status, statusText, headers, body } = response
  const limited = new Response(body?.pipeThrough(limitBytes(maxBytes)), { status, statusText, headers })
  // The URL after redirects: a constructed Response has none.
  Object.defineProperty(limited, 'url', { value: url })
  return limited
}

function limitBytes(maxBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0
  return new TransformStream({
    transform(piece, out) {
      bytes += piece.byteLength
      if (bytes > maxBytes) out.error(new Error(`the response is longer than ${maxBytes} bytes`))
      else out.enqueue(piece)
    },
  })
}
