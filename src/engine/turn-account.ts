import type { Draft } from '../core/answer.ts'
import { defined } from '../core/defined.ts'
import type { Usage } from '../core/event.ts'
import type { Failure } from '../core/failure.ts'
import { allowsModel, allowsServerKeys } from '../core/organization-limits.ts'
import type { Run } from '../core/run.ts'
import { estimateAll, fixedTokens } from '../core/token-estimate.ts'
import type { KeyPayer } from '../ports/credentials.ts'
import type { ModelRequest } from '../ports/model.ts'
import type { Shares, SpendReservation } from '../ports/shares.ts'
import type { StoreRetry } from './retry-store.ts'

/** What the organization of a run may use, and who pays for it. */
export type TurnAccount = {
  /** Why this model may not be asked; undefined if it may. */
  refusal(handle: string): Promise<Failure | undefined>
  /** Whose keys of a provider pay. */
  payerFor(provider: string): Promise<KeyPayer>
  /** Reserves the highest price of a request, or says why it may not be sent. */
  reserve(handle: string, request: ModelRequest, maxOutput: number | undefined): Promise<Reserved | Failure>
}

type Reserved = { settle(draft: Draft): Promise<void> }

/** The output that is assumed of a model without a known limit. */
const UNSTATED_OUTPUT = 8_192

export function newTurnAccount(
  { organizationId, openedBy }: Pick<Run, 'organizationId' | 'openedBy'>,
  shares: Shares,
  retry: StoreRetry,
): TurnAccount {
  return {
    async refusal(handle) {
      const policy = await retry(() => shares.policyOf(organizationId))
      if (allowsModel(policy, handle)) return undefined
      const detail = `${handle} is not among the models that the organization may use (\`holdfast limits\`); no request was sent`
      return { kind: 'model-not-allowed', detail }
    },
    async payerFor(provider) {
      const policy = await retry(() => shares.policyOf(organizationId))
      return { organizationId, mayUseServerKeys: allowsServerKeys(policy, provider) }
    },
    async reserve(handle, request, maxOutput) {
      const asked = {
        organizationId,
        handle,
        promptTokens: fixedTokens(request) + estimateAll(request.messages),
        outputTokens: request.outputCap ?? maxOutput ?? UNSTATED_OUTPUT,
        ...defined({ keyId: openedBy }),
      }
      const reservation = await retry(() => shares.reserve(asked))
      if (reservation.type === 'refused')
        return { kind: 'spending-limit', detail: `${reservation.detail}; no request was sent` }
      return { settle: (draft) => retry(() => settle(reservation, draft)) }
    },
  }
}

/** An answer without a stated usage keeps what was reserved, unless the provider refused the request. */
async function settle(reservation: Extract<SpendReservation, { type: 'reserved' }>, draft: Draft): Promise<void> {
  const { usage, failure } = draft
  const isStated = usage.promptTokens > 0 || usage.completionTokens > 0
  if (isStated) return reservation.settle(usage)
  if (failure && !failure.mayHaveBeenAccepted) await reservation.settle(NOTHING)
}

const NOTHING: Usage = { promptTokens: 0, completionTokens: 0 }
