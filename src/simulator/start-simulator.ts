import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Json } from '../core/json.ts'
import { control, isControl } from './control.ts'
import { type Exchange, openExchange } from './exchange.ts'
import { type KeyRing, newKeyRing } from './key-ring.ts'
import { listen } from './listening.ts'
import { newOtherEndpoints, type OtherEndpoints } from './other-endpoints.ts'
import { playAnswer, sendHttp } from './play-answer.ts'
import { newRecorder, type Recorder, type RequestRecord } from './recorder.ts'
import { newRulebook } from './rulebook.ts'
import type { Answer, KeyState, Script } from './script.ts'
import { isModelProtocol } from './vendor-errors.ts'

export type SimulatorOptions = {
  /** 0 picks a free port. */
  port?: number
  script?: Script
  /** Without known keys every key is accepted; otherwise all unknown keys are refused. */
  keys?: Record<string, KeyState>
  /** Sent when no rule matches; by default an echo of the last message. */
  defaultAnswer?: Answer
  /** Models in the model lists. Unlisted models work, too. */
  models?: string[]
  onEnded?: (request: RequestRecord) => void
}

/** A simulated model provider. */
export type Simulator = Pick<Recorder, 'requests' | 'waitForRequests' | 'waitForClosed'> & {
  /** `http://127.0.0.1:port`, without a path. */
  readonly url: string
  readonly port: number
  /** Replaces the rules. */
  script(...rules: Script): void
  readonly keys: Pick<KeyRing, 'set' | 'forget' | 'states'>
  readonly oauth: OtherEndpoints['oauth']
  readonly account: OtherEndpoints['account']
  /** Resets every connection and refuses new ones until `comeBack`. */
  goDown(): Promise<void>
  comeBack(): Promise<void>
  /** Restores the initial script, keys and tokens, and clears the records. */
  reset(): void
  close(): Promise<void>
}

export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { script = [], keys = {}, models = ['simulated-model'], onEnded = () => {} } = options
  const recorder = newRecorder()
  const ring = newKeyRing(keys)
  const endpoints = newOtherEndpoints({ ring, models, url: () => url })
  let rules = newRulebook(script)
  let reopening: NodeJS.Timeout | undefined

  const listening = await listen(options.port ?? 0, (request, response) => void serve(request, response))
  const url = `http://127.0.0.1:${listening.port}`

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (isControl(request))
      return control(request, response, { script: play, setKey: ring.set, reset, refuse, requests })
    const exchange = await openExchange(request, response, { recorder, onEnded })
    if (!exchange) return
    try {
      await answer(exchange)
    } catch (fault) {
      // After a disconnect errors are expected; any other error is a bug and must not look like a scripted fault.
      if (!exchange.signal.aborted && !request.socket.destroyed) throw fault
    }
  }

  function answer(exchange: Exchange): Promise<void> {
    const { received, modelRequest, recorded } = exchange
    const { protocol, key } = recorded
    if (protocol === 'unknown') return sendHttp(notFoundAnswer(recorded), exchange)
    const refusal = protocol === 'oauth' ? undefined : ring.refusal(key, Date.now())
    const { headers, raw, path } = received
    const scripted = refusal ?? rules.take(modelRequest ?? { protocol, key, raw, headers, path })
    if (scripted) return playAnswer(scripted, exchange, refuse)
    if (modelRequest && typeof received.body === 'string') return playAnswer(NO_JSON, exchange, refuse)
    if (!isModelProtocol(protocol)) return sendHttp(endpoints.answer(protocol, exchange), exchange)
    return playAnswer(options.defaultAnswer ?? echo(modelRequest?.lastMessage ?? ''), exchange, refuse)
  }

  function refuse(forMs: number): void {
    clearTimeout(reopening)
    void listening.goDown()
    reopening = setTimeout(() => void listening.comeBack(), forMs)
  }

  function play(...next: Script): void {
    rules = newRulebook(next)
  }

  function reset(): void {
    recorder.clear()
    ring.replaceAll(keys)
    endpoints.reset()
    rules = newRulebook(script)
  }

  /** Without headers and keys: the response may end up in a terminal. */
  const requests = (): Json =>
    recorder.requests.map(({ headers: _, key: __, ...record }) => JSON.parse(JSON.stringify(record)) as Json)

  return {
    url,
    port: listening.port,
    requests: recorder.requests,
    waitForRequests: recorder.waitForRequests,
    waitForClosed: recorder.waitForClosed,
    script: play,
    keys: ring,
    oauth: endpoints.oauth,
    account: endpoints.account,
    goDown: listening.goDown,
    comeBack: listening.comeBack,
    reset,
    async close() {
      clearTimeout(reopening)
      await listening.goDown()
    },
  }
}

const echo = (message: string): Answer => ({
  text: `You said: ${message === '' ? 'nothing' : message}\n\nThis is the simulator; no model was called.`,
})

const NO_JSON: Answer = { error: 'invalid-request', message: 'We could not parse the JSON body of your request.' }

const notFoundAnswer = ({ method, path }: RequestRecord) => ({
  status: 404,
  body: {
    error: { message: `The simulator serves nothing at ${method} ${path}.`, type: 'not_found', code: 'not_found' },
  },
})
