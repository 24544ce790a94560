import { embedTexts } from './embeddings.ts'
import type { Exchange } from './exchange.ts'
import type { KeyRing } from './key-ring.ts'
import { listModels } from './model-lists.ts'
import { newOAuth, type OAuth } from './oauth.ts'
import type { HttpAnswer } from './play-answer.ts'
import type { OtherProtocol } from './script.ts'

/** Endpoints of providers besides model requests. */
export type OtherEndpoints = {
  oauth: OAuth['control']
  account: Account
  answer(protocol: OtherProtocol, exchange: Exchange): HttpAnswer
  reset(): void
}

/** The account behind every key, as the Nous API reports it. */
type Account = { paidServiceAccess: boolean; creditsRemaining: number }

const NEW_ACCOUNT: Account = { paidServiceAccess: true, creditsRemaining: 20 }

export function newOtherEndpoints({
  ring,
  url,
  models,
}: {
  ring: KeyRing
  url: () => string
  models: string[]
}): OtherEndpoints {
  const oauth = newOAuth({ ring, url })
  const account: Account = { ...NEW_ACCOUNT }
  let copilotTokens = 0
  const answers: Record<OtherProtocol, (exchange: Exchange) => HttpAnswer> = {
    models: (exchange) => listModels(models, exchange),
    embeddings: embedTexts,
    oauth: oauth.answer,
    account: () => accountAnswer(account),
    copilot: () => {
      copilotTokens += 1
      const token = `copilot-token-${copilotTokens}`
      ring.admit(token)
      return { status: 200, body: copilotBody(token, url()) }
    },
  }
  return {
    oauth: oauth.control,
    account,
    answer: (protocol, exchange) => answers[protocol](exchange),
    reset() {
      oauth.reset()
      Object.assign(account, NEW_ACCOUNT)
      copilotTokens = 0
    },
  }
}

const accountAnswer = ({ paidServiceAccess, creditsRemaining }: Account): HttpAnswer => ({
  status: 200,
  body: {
    user: { email: 'operator@example.test' },
    subscription: { plan: paidServiceAccess ? 'Plus' : 'Free', monthly_charge: paidServiceAccess ? 20 : 0 },
    purchased_credits_remaining: creditsRemaining,
    paid_service_access: {
      allowed: paidServiceAccess,
      paid_access: paidServiceAccess,
      total_usable_credits: creditsRemaining,
    },
  },
})

const TOKEN_SECONDS = 1500

const copilotBody = (token: string, url: string) => ({
  token,
  expires_at: Math.floor(Date.now() / 1000) + TOKEN_SECONDS,
  refresh_in: TOKEN_SECONDS - 60,
  endpoints: { api: url },
  chat_enabled: true,
})
