import { defined } from './defined.ts'
import type { Usage } from './event.ts'
import type { KeyId } from './people.ts'
import { costOf, type Price } from './price.ts'

/** Dollars in millionths, so that sums are exact. */
type Spending = { microDollars: number; tokens: number }

type Account = '' | KeyId | `model:${string}`

type AccountChange = Spending & { account: Account; limit?: Partial<Spending> }

type Request = { keyId?: KeyId; handle: string; promptTokens: number; outputTokens: number }

/** Of one day; 0 means no limit. */
type Bounds = { microDollars: number; microDollarsOfKey: number; tokens: number }

type SpendPlan = {
  reserved: AccountChange[]
  /** The difference between what was reserved and what was used. */
  settled(usage: Usage): AccountChange[]
  refusal(account: Account): string
}

/**
 * What to count before a request is sent: its highest price, from the length of the prompt and the limit of the output.
 * A model without a price is counted in tokens, under its name. Undefined: no limit applies.
 */
export function reserveSpending(
  { keyId, handle, promptTokens, outputTokens }: Request,
  { bounds, price }: { bounds: Bounds; price?: Price },
): SpendPlan | undefined {
  const { microDollars, microDollarsOfKey, tokens } = bounds
  if (microDollars === 0 && microDollarsOfKey === 0 && tokens === 0) return undefined
  const highest: Usage = { promptTokens, completionTokens: outputTokens }
  const atMost = amountOf(highest, price)
  const accounts: { account: Account; limit: Partial<Spending> }[] = [
    {
      account: '',
      limit: defined({
        microDollars: price && microDollars > 0 ? microDollars : undefined,
        tokens: !price && tokens > 0 ? tokens : undefined,
      }),
    },
  ]
  if (keyId && price)
    accounts.push({
      account: keyId,
      limit: defined({ microDollars: microDollarsOfKey > 0 ? microDollarsOfKey : undefined }),
    })
  if (!price) accounts.push({ account: `model:${handle}`, limit: {} })
  return {
    reserved: accounts.map(({ account, limit }) => ({ account, ...atMost, limit })),
    settled(usage) {
      const used = amountOf(usage, price)
      const difference = { microDollars: used.microDollars - atMost.microDollars, tokens: used.tokens - atMost.tokens }
      return accounts.map(({ account }) => ({ account, ...difference }))
    },
    refusal(account) {
      if (!price)
        return `the organization has reached its limit of ${tokens} tokens a day of models without a known price, such as ${handle} (limits.tokens_per_day_per_organization)`
      const [limit, setting, who] =
        account === ''
          ? [microDollars, 'limits.dollars_per_day_per_organization', 'organization']
          : [microDollarsOfKey, 'limits.dollars_per_day_per_key', 'key']
      const highestPrice = (atMost.microDollars / 1_000_000).toFixed(4)
      return `this request to ${handle} may cost $${highestPrice}, and the ${who} would pass its limit of $${limit / 1_000_000} a day (${setting})`
    },
  }
}

/** Rounded up. A part without a price is counted at the price of the input. */
function amountOf(usage: Usage, price: Price | undefined): Spending {
  const { promptTokens, completionTokens } = usage
  if (!price) return { microDollars: 0, tokens: promptTokens + completionTokens }
  const dollars = costOf(usage, price) ?? (promptTokens * price.input + completionTokens * price.output) / 1_000_000
  return { microDollars: Math.ceil(dollars * 1_000_000), tokens: 0 }
}
