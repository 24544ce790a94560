import { Problem } from '../../core/problem.ts'
import { handleOf, parseTarget, type Target, type TargetHandle } from '../../core/target.ts'
import type { ServiceContext } from '../service-context.ts'

/** Either the provider's name here, or what to write instead. */
type RetiredProvider = { alias: string } | { instead(target: Target, context: ServiceContext): string }

/** Names of providers in handles of the retired server. A configured provider of the same name wins. */
const RETIRED_PROVIDERS: Readonly<Record<string, RetiredProvider>> = {
  google_ai: { alias: 'gemini' },
  google_vertex: {
    instead: ({ model }) => `Vertex AI is not supported. Write gemini/${model} and set GEMINI_API_KEY.`,
  },
  letta: {
    instead: (_, { defaults }) =>
      `The retired service alone had this model. Write provider/model, or letta/auto for the default model of this server, ${defaults.model}.`,
  },
  azure: {
    instead: () =>
      'Set AZURE_OPENAI_API_KEY and AZURE_OPENAI_BASE_URL (https://<resource>.openai.azure.com/openai/v1), and write azure/ and the name of the deployment.',
  },
  bedrock: {
    instead: () =>
      'Bedrock is not supported. Write anthropic/ and the name of the model at Anthropic, or add a server with a known dialect as `providers.bedrock` in config.yaml.',
  },
  chatgpt_oauth: { instead: ({ model }) => `Write codex/${model} and run \`holdfast auth add codex --device\`.` },
}

/** The handle under its present name; a retired one without an equivalent is refused with what to write instead. */
export function currentHandle(handle: TargetHandle, context: ServiceContext): TargetHandle {
  const target = parseTarget(handle)!
  if (context.deps.models.find(target.provider)) return handle
  if (!Object.hasOwn(RETIRED_PROVIDERS, target.provider)) return handle
  const retired = RETIRED_PROVIDERS[target.provider]!
  if ('alias' in retired) return handleOf({ ...target, provider: retired.alias })
  const shown = { ...target, model: target.model.slice(0, 200) }
  throw new Problem('not-found', `Handle ${handleOf(shown)} not found. ${retired.instead(shown, context)}`)
}
