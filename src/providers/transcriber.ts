import { parseTarget } from '../core/target.ts'
import { withoutEnding } from '../core/without-ending.ts'
import type { Clock } from '../ports/clock.ts'
import type { Credentials } from '../ports/credentials.ts'
import type { ProviderSet } from './provider-set.ts'
import { authHeaders } from './wire/auth-headers.ts'

type TranscriberOptions = {
  set: Pick<ProviderSet, 'vendors' | 'quirksOf'>
  credentials: Pick<Credentials, 'choose'>
  clock: Pick<Clock, 'now'>
}

type Voice = { bytes: Uint8Array; mediaType: string; name: string }

/** People wait for the answer to a voice note. */
const TIMEOUT_MS = 60_000

/** Turns voice notes into text with a model behind an OpenAI-shaped `audio/transcriptions`. One request, no retry. */
export function newTranscriber({ set, credentials, clock }: TranscriberOptions) {
  return async (handle: string, voice: Voice, signal: AbortSignal): Promise<{ text: string } | { fault: string }> => {
    const target = parseTarget(handle)
    const vendor = set.vendors.find(({ name }) => name === target?.provider)
    if (!target || !vendor) return { fault: `the provider of ${handle} is not configured` }
    const choice = await credentials.choose(vendor.name, { setAside: [], at: clock.now(), signal })
    const grant = choice.type === 'granted' ? choice.grant : undefined
    if (!grant && vendor.needsKey) return { fault: `the API key of ${vendor.name} is missing or cannot serve now` }
    const quirks = set.quirksOf(vendor.name)
    const form = new FormData()
    form.set('model', target.model)
    form.set('response_format', 'json')
    form.set('file', new Blob([voice.bytes as Uint8Array<ArrayBuffer>], { type: voice.mediaType }), voice.name)
    const url = `${withoutEnding(grant?.baseUrl ?? vendor.baseUrl, '/')}/audio/transcriptions`
    const headers = { ...quirks.headers, ...grant?.headers, ...authHeaders(grant, quirks.auth ?? 'bearer') }
    try {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
      const response = await fetch(url, { method: 'POST', headers, body: form, signal: limit })
      if (!response.ok) return { fault: `the transcription was refused with status ${response.status}` }
      const { text } = (await response.json()) as { text?: unknown }
      return typeof text === 'string' ? { text } : { fault: 'the transcription has no text' }
    } catch {
      return { fault: 'the transcription did not answer' }
    }
  }
}
