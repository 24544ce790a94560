import type { IncomingMessage } from 'node:http'

export type ReceivedFile = { field: string; name: string; bytes: Uint8Array }

/** A body with files, or undefined if it has another type. */
export async function readForm(
  body: Uint8Array,
  { headers }: Pick<IncomingMessage, 'headers'>,
): Promise<{ fields: Record<string, string>; files: ReceivedFile[] } | undefined> {
  const type = headers['content-type'] ?? ''
  if (!type.startsWith('multipart/form-data')) return undefined
  const form = await new Response(body as Uint8Array<ArrayBuffer>, { headers: { 'content-type': type } }).formData()
  const fields: Record<string, string> = {}
  const files: ReceivedFile[] = []
  for (const [field, value] of form) {
    if (typeof value === 'string') fields[field] = value
    else files.push({ field, name: value.name, bytes: new Uint8Array(await value.arrayBuffer()) })
  }
  return { fields, files }
}
