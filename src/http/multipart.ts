import { Problem } from '../core/problem.ts'

/** A file in a form: a view of the bytes of the form, not a copy. */
export class UploadedFile {
  readonly bytes: Buffer
  constructor(bytes: Buffer) {
    this.bytes = bytes
  }
}

const LINE_END = Buffer.from('\r\n')
const HEADERS_END = Buffer.from('\r\n\r\n')
const DASHES = Buffer.from('--')
/** A form of this server has thirteen fields. */
const MAX_PARTS = 100
const MAX_HEADERS = 4_096

/** Parses a form (RFC 7578) into one object of files and fields, without empty fields. */
export function readForm(body: Buffer, contentType: string): Record<string, unknown> {
  const delimiter = Buffer.from(`--${boundaryOf(contentType)}`)
  const form: Record<string, unknown> = {}
  let start = body.indexOf(delimiter)
  if (start !== 0 && !body.subarray(start - 2, Math.max(start, 0)).equals(LINE_END)) throw notAForm()
  const next = Buffer.concat([LINE_END, delimiter])
  for (let parts = 0; ; parts++) {
    start += delimiter.length
    if (body.subarray(start, start + 2).equals(DASHES)) return form
    if (!body.subarray(start, start + 2).equals(LINE_END) || parts >= MAX_PARTS) throw notAForm()
    const end = body.indexOf(next, start)
    if (end < 0) throw notAForm()
    const { name, value } = readPart(body.subarray(start + 2, end))
    if (value !== '') form[name] = value
    start = end + LINE_END.length
  }
}

function readPart(part: Buffer): { name: string; value: string | UploadedFile } {
  const headersEnd = part.subarray(0, MAX_HEADERS).indexOf(HEADERS_END)
  if (headersEnd < 0) throw notAForm()
  const lines = part.subarray(0, headersEnd).toString('utf8').split('\r\n')
  const disposition = lines.find((line) => /^content-disposition:/i.test(line)) ?? ''
  const name = parameterOf(disposition, 'name')
  if (name === undefined || name === '__proto__') throw notAForm()
  const bytes = part.subarray(headersEnd + HEADERS_END.length)
  const isFile = parameterOf(disposition, 'filename') !== undefined
  return { name, value: isFile ? new UploadedFile(bytes) : bytes.toString('utf8') }
}

/** A quoted parameter; browsers and clients encode a quote in it as %22. */
const parameterOf = (header: string, name: 'name' | 'filename'): string | undefined =>
  new RegExp(`;[ \\t]*${name}="([^"\\r\\n]*)"`, 'i').exec(header)?.[1]?.replaceAll('%22', '"')

function boundaryOf(contentType: string): string {
  const [, quoted, plain] = /;[ \t]*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(contentType) ?? []
  const boundary = quoted ?? plain
  if (boundary === undefined) throw notAForm()
  return boundary
}

const notAForm = () => new Problem('invalid', 'body: is not a valid multipart form')
