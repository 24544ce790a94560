import { defined } from '../core/defined.ts'
import type { FailureKind } from '../core/failure.ts'

type AdviceRequest = {
  provider: string
  kind: FailureKind
  /** The name shown to people, where it differs from the name in the configuration. */
  label?: string
  /** The environment variable its key is read from. */
  keyVariable?: string
}

/** One or two sentences that say what the operator can do once every retry and failover has failed. */
export function adviceFor(request: AdviceRequest): string {
  const known = Object.hasOwn(ADVICE_PROFILES, request.provider) ? ADVICE_PROFILES[request.provider] : undefined
  return ADVICE[request.kind]({
    name: request.provider,
    label: request.label ?? known?.label ?? request.provider,
    keys: known?.keys ?? 'on its API keys page',
    limits: known?.limits ?? 'its rate limits',
    billing: known?.billing ?? 'its billing page',
    where: known?.where ?? 'remote',
    signsIn: known?.signsIn ?? false,
    ...defined({ keyVariable: request.keyVariable }),
  })
}

/** Without variables, the provider has logins only. */
export const missingKeyAdvice = (provider: string, keyVariables: readonly string[]): string =>
  keyVariables.length > 0
    ? `Set ${keyVariables.join(' or ')}, or run \`holdfast auth add ${provider}\`.${whereKeysAre(provider)}`
    : `Run \`holdfast auth add ${provider} --device\`.`

function whereKeysAre(provider: string): string {
  const known = Object.hasOwn(ADVICE_PROFILES, provider) ? ADVICE_PROFILES[provider] : undefined
  return known && known.where !== 'local' ? ` You get a key ${known.keys}.` : ''
}

type AdviceProfile = {
  label: string
  /** Pages are given by name because their addresses change. */
  keys: string
  limits: string
  billing: string
  /** A local server: the advice is to start it, not to add credit. */
  where?: 'local'
  /** The provider uses a sign-in instead of a key that can be copied. */
  signsIn?: true
}

const ADVICE_PROFILES: Readonly<Record<string, AdviceProfile>> = {
  openai: {
    label: 'OpenAI',
    keys: 'under "API keys" in the OpenAI platform settings',
    limits: '"Limits" in the OpenAI platform settings',
    billing: '"Billing" in the OpenAI platform settings',
  },
  anthropic: {
    label: 'Anthropic',
    keys: 'under "API keys" in the Claude Console',
    limits: '"Limits" in the Claude Console',
    billing: '"Billing" in the Claude Console',
  },
  gemini: {
    label: 'Gemini',
    keys: 'under "API keys" in Google AI Studio',
    limits: '"Usage and limits" in Google AI Studio',
    billing: 'the billing plan of the project in Google AI Studio',
  },
  openrouter: {
    label: 'OpenRouter',
    keys: 'under "Keys" in the OpenRouter settings',
    limits: '"Keys" in the OpenRouter settings, where each key has a limit',
    billing: '"Credits" in the OpenRouter settings',
  },
  nous: {
    label: 'Nous',
    keys: 'in the Nous portal',
    limits: 'the usage page of the Nous portal',
    billing: 'the subscription and credits in the Nous portal',
    signsIn: true,
  },
  groq: {
    label: 'Groq',
    keys: 'under "API Keys" in the Groq console',
    limits: '"Limits" in the Groq console',
    billing: '"Billing" in the Groq console',
  },
  together: {
    label: 'Together',
    keys: 'under "API Keys" in the Together settings',
    limits: 'the rate limits in the Together settings',
    billing: '"Billing" in the Together settings',
  },
  deepseek: {
    label: 'DeepSeek',
    keys: 'under "API keys" in the DeepSeek platform',
    limits: '"Usage" in the DeepSeek platform',
    billing: '"Top up" in the DeepSeek platform',
  },
  xai: {
    label: 'xAI',
    keys: 'under "API Keys" in the xAI console',
    limits: '"Rate limits" in the xAI console',
    billing: '"Billing" in the xAI console, or the Grok subscription',
  },
  zai: {
    label: 'Z.AI',
    keys: 'under "API keys" in the Z.AI platform settings',
    limits: 'the rate limits in the Z.AI platform settings',
    billing: '"Billing" in the Z.AI platform settings',
  },
  mistral: {
    label: 'Mistral',
    keys: 'under "API keys" in the Mistral console',
    limits: '"Limits" in the Mistral console',
    billing: '"Billing" in the Mistral console',
  },
  azure: {
    label: 'Azure OpenAI',
    keys: 'under "Keys and Endpoint" of the resource in the Azure portal',
    limits: 'the quota of the deployment in the Azure portal',
    billing: 'the subscription in the Azure portal',
  },
  copilot: {
    label: 'GitHub Copilot',
    keys: 'with the Copilot sign-in',
    limits: 'the Copilot page of the GitHub settings',
    billing: 'the Copilot plan in the GitHub settings',
    signsIn: true,
  },
  codex: {
    label: 'Codex',
    keys: 'with the ChatGPT sign-in',
    limits: 'the usage page of the ChatGPT account',
    billing: 'the plan of the ChatGPT account',
    signsIn: true,
  },
  ollama: localServer('Ollama'),
  vllm: localServer('vLLM'),
  llamacpp: localServer('llama.cpp'),
  lmstudio: localServer('LM Studio'),
}

function localServer(label: string): AdviceProfile {
  return {
    label,
    keys: `in the settings of the ${label} server`,
    limits: `the settings of the ${label} server`,
    billing: `the settings of the ${label} server`,
    where: 'local',
  }
}

type AdviceContext = Omit<AdviceProfile, 'where' | 'signsIn'> & {
  name: string
  where: 'local' | 'remote'
  signsIn: boolean
  keyVariable?: string
}

type Advice = (facts: AdviceContext) => string

const testCommand: Advice = ({ name }) => `\`holdfast providers test ${name}\``

const LATER: Advice = (facts) =>
  `Try again later: ${facts.label} is having problems. ${testCommand(facts)} shows whether it has recovered.`
const UNREACHABLE: Advice = (facts) =>
  facts.where === 'local'
    ? `Start the ${facts.label} server or correct its base URL, then run ${testCommand(facts)}.`
    : `Check the network, the proxy and the base URL of ${facts.label}, then run ${testCommand(facts)}.`
const LIMITED: Advice = (facts) =>
  `Wait, add another credential, or check ${facts.limits}. \`holdfast providers clear ${facts.name}\` ends the cooldown of ${facts.label} at once.`
const TOO_LONG: Advice = ({ label }) =>
  `Start a new conversation, compact this one, or switch the agent to a ${label} model with a larger context window.`
const IMAGES: Advice = ({ label }) =>
  `Send smaller images or none, or switch the agent to a ${label} model that accepts images.`
const REQUEST: Advice = (facts) =>
  `The API of ${facts.label} rejects this request. Switch the agent to another model, or inspect the attempt with \`holdfast runs show\`.`
const ANSWER: Advice = ({ label }) =>
  `Rephrase the message, or switch the agent from this ${label} model to another one.`
const OUTPUT: Advice = ({ label }) =>
  `Ask for a shorter answer, or raise the output limit of the agent as far as ${label} allows.`

const ADVICE: Record<FailureKind, Advice> = {
  unreachable: UNREACHABLE,
  timeout: LATER,
  stalled: LATER,
  'cut-off': LATER,
  'certificate-rejected': (facts) =>
    `Set NODE_EXTRA_CA_CERTS so that Node trusts the certificate authority of ${facts.label}, or correct its base URL, then run ${testCommand(facts)}.`,
  overloaded: (facts) =>
    facts.where === 'local'
      ? `The ${facts.label} server is busy or still loading a model. Try again soon; ${testCommand(facts)} shows whether it is ready.`
      : LATER(facts),
  'server-error': (facts) =>
    facts.where === 'local'
      ? `Check the log of the ${facts.label} server, then run ${testCommand(facts)}.`
      : LATER(facts),
  'rate-limited': LIMITED,
  'upstream-rate-limited': ({ label }) =>
    `The provider behind ${label} is rate limited. Wait, choose another model, or add a fallback that does not use ${label}.`,
  'cooling-down': LIMITED,
  'quota-exhausted': (facts) =>
    facts.where === 'local'
      ? REQUEST(facts)
      : `Add credit or raise the limit: see ${facts.billing}. Then run \`holdfast providers clear ${facts.name}\`.`,
  'auth-rejected': (facts) =>
    facts.signsIn
      ? `Sign in to ${facts.label} again with \`holdfast auth add ${facts.name} --device\`, then run ${testCommand(facts)}.`
      : `Check ${facts.keyVariable ?? `the key of ${facts.label}`} against the key ${facts.keys}, then run \`holdfast auth refresh ${facts.name}\` and ${testCommand(facts)}.`,
  'policy-blocked': ({ label }) =>
    `A setting of the ${label} account, or the region of this server, does not allow this request. Change that setting, or choose another model or provider.`,
  'model-unknown': (facts) =>
    facts.where === 'local'
      ? `Load the model in the ${facts.label} server or correct its name; \`holdfast models\` lists the available models.`
      : `Correct the name of the model or ask ${facts.label} for access to it; \`holdfast models\` lists the available models.`,
  'model-not-allowed': () =>
    'Choose a model that the organization may use: `holdfast limits` lists them. An operator can allow more with `holdfast limits set`.',
  'spending-limit': () =>
    'Wait until tomorrow (UTC), or ask an operator to raise the limit with `holdfast limits set`.',
  'context-overflow': TOO_LONG,
  'long-context-refused': (facts) =>
    `Enable extra usage for long context (see ${facts.billing}), or compact the conversation.`,
  'long-context-beta-refused': ({ label }) =>
    `This ${label} account has no access to long context. Switch the agent to a model with the standard context window.`,
  'output-cap-too-large': ({ label }) => `Lower the output limit of the agent to what the ${label} model allows.`,
  'payload-too-large': TOO_LONG,
  'image-too-large': IMAGES,
  'image-rejected': IMAGES,
  'tool-images-unsupported': IMAGES,
  'signature-rejected': REQUEST,
  'encrypted-reasoning-rejected': REQUEST,
  'grammar-rejected': ({ label }) =>
    `The API of ${label} does not support the schema of a tool. Simplify it (no \`pattern\`, no \`format\`), or choose another model.`,
  'invalid-request': REQUEST,
  'content-refused': ANSWER,
  'empty-answer': ANSWER,
  'thinking-only': ANSWER,
  'thinking-exhausted': OUTPUT,
  'text-truncated': OUTPUT,
  'call-truncated': OUTPUT,
  'malformed-answer': (facts) =>
    `The server at the base URL of ${facts.label} does not speak its API. Correct the URL, then run ${testCommand(facts)}.`,
}
