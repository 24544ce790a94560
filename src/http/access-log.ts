import type { FastifyInstance } from 'fastify'
import { errorText } from '../core/error-text.ts'
import { KEY_PATTERN } from '../core/people.ts'
import { bearerToken } from './api-key.ts'

type LogSink = {
  write(line: string): void
  /** Values to redact from every line. */
  secrets: readonly string[]
}

/** Writes one JSON line for each answered request. */
export function registerAccessLog(server: FastifyInstance, log: LogSink): void {
  server.addHook('onResponse', (request, reply, done) => {
    const { method, url, ip: from, headers, caller } = request
    const line = {
      at: new Date().toISOString(),
      type: 'request',
      id: request.id,
      from,
      method,
      url: withoutCode(url),
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime),
      run: reply.getHeader('x-run-id') ?? null,
      key: caller?.actor ?? null,
      organization: caller?.organizationId ?? null,
      agent: headers['user-agent'] ?? null,
    }
    const token = bearerToken(headers.authorization)
    writeRedacted(line, token === undefined ? log : { ...log, secrets: [...log.secrets, token] })
    done()
  })
}

/** The answer of an authorization server comes as an address; its parts are secrets until they are used. */
const withoutCode = (url: string): string => url.replaceAll(/([?&](?:code|state)=)[^&]*/g, '$1[secret]')

/** Logs an internal error with the request that caused it. */
export function logFault(fault: unknown, where: string, log: LogSink): void {
  writeRedacted({ at: new Date().toISOString(), type: 'fault', where, said: errorText(fault) }, log)
}

function writeRedacted(line: object, { write, secrets }: LogSink): void {
  write(redact(JSON.stringify(line), secrets))
}

/** Shorter values are often ordinary words; redacting them would make the log unreadable. */
const MIN_SECRET_LENGTH = 8

/** Redacts the known secrets in every encoding, then every text that has the format of an API key. */
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

/** Secret values of an environment: variables named like secrets, and passwords in URLs. */
export function secretsInEnvironment(environment: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(environment).flatMap(([name, value = '']) => {
    if (SECRET_NAME.test(name)) return value.split(',').map((one) => one.trim())
    const password = URL.canParse(value) ? new URL(value).password : ''
    return password ? [password, decodeURIComponent(password)] : []
  })
}
