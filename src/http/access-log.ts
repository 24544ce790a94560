import type { FastifyInstance } from 'fastify'
import { errorText } from '../core/error-text.ts'
import { KEY_PATTERN } from '../core/people.ts'
import { bearerToken } from './api-key.ts'

type LogSink = {
  write(line: string): void
  /** Values that must not be seen, wherever they stand. */
  secrets: readonly string[]
}

/** One line of JSON for each request that was answered. */
export function registerAccessLog(server: FastifyInstance, log: LogSink): void {
  server.addHook('onResponse', (request, reply, done) => {
    const { method, url, ip: from, headers, caller } = request
    const line = {
      at: new Date().toISOString(),
      type: 'request',
      id: request.id,
      from,
      method,
      url,
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime),
      run: reply.getHeader('x-run-id') ?? null,
      key: caller?.actor ?? null,
      organization: caller?.organizationId ?? null,
      agent: headers['user-agent'] ?? null,
    }
    const shown = bearerToken(headers.authorization)
    writeRedacted(line, shown === undefined ? log : { ...log, secrets: [...log.secrets, shown] })
    done()
  })
}

/** A fault of ours, with the request it was met in. */
export function logFault(fault: unknown, where: string, log: LogSink): void {
  const said = errorText(fault)
  writeRedacted({ at: new Date().toISOString(), type: 'fault', where, said }, log)
}

function writeRedacted(line: object, { write, secrets }: LogSink): void {
  write(redact(JSON.stringify(line), secrets))
}

/** Shorter ones are words, and would take half of every line away. */
const MIN_SECRET_LENGTH = 8

/** By value first, in each way a value may be written down; then whatever looks like a key of ours. */
export function redact(text: string, secrets: readonly string[]): string {
  let clean = text
  for (const secret of secrets) {
    if (secret.length < MIN_SECRET_LENGTH) continue
    for (const form of encodedForms(secret)) clean = clean.replaceAll(form, '[secret]')
  }
  return clean.replaceAll(KEY_PATTERN, '[secret]')
}

function encodedForms(secret: string): Set<string> {
  const bytes = Buffer.from(secret)
  return new Set([
    secret,
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
    bytes.toString('base64').replaceAll('=', ''),
    bytes.toString('base64url'),
  ])
}

const SECRET_NAME = /(KEY|TOKEN|SECRET|PASSWORD|PASSWD)S?$/

/** What an environment keeps secret: by the names of its variables, and the passwords in its addresses. */
export function secretsInEnvironment(environment: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(environment).flatMap(([name, value = '']) => {
    if (SECRET_NAME.test(name)) return value.split(',').map((one) => one.trim())
    const password = URL.canParse(value) ? new URL(value).password : ''
    return password ? [password, decodeURIComponent(password)] : []
  })
}
