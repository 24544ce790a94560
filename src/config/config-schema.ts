import type { Schema } from '@cfworker/json-schema'
import { LIMITS } from '../core/limits.ts'
import { limitKey } from './limits.ts'
import { AMOUNTS, CONTAINMENTS, DOMAIN, FOLDER } from './workspaces.ts'

const milliseconds: Schema = { type: 'integer', minimum: 1, maximum: 86_400_000 }

const provider: Schema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    base_url: { type: 'string', pattern: '^https?://', description: 'Where requests go.' },
    dialect: {
      enum: ['openai-chat', 'openai-responses', 'anthropic', 'gemini'],
      description: 'The language its server speaks.',
    },
    timeout_ms: { ...milliseconds, description: 'How long the first byte of an answer may take.' },
    stall_timeout_ms: { ...milliseconds, description: 'How long an answer may be silent.' },
    strategy: {
      enum: ['fill_first', 'round_robin', 'least_used', 'random'],
      description: 'Which credential is taken.',
    },
    headers: { type: 'object', additionalProperties: { type: 'string' }, description: 'Sent with every request.' },
    windows: {
      type: 'object',
      additionalProperties: { type: 'integer', minimum: 1 },
      description: 'Context windows by model, in tokens.',
    },
    aggregator: { type: 'boolean', description: 'It pools and retries by itself.' },
    oauth: {
      type: 'object',
      description: 'Where its tokens come from, instead of the addresses of the vendor.',
      additionalProperties: false,
      properties: {
        token_url: { type: 'string', description: 'Where tokens are given out and renewed.' },
        device_code_url: { type: 'string', description: 'Where a login with a code begins (RFC 8628).' },
        exchange_url: { type: 'string', description: 'Where a long-lived token is changed for a short-lived one.' },
        account_url: { type: 'string', description: 'Says whether the account is paid up.' },
        client_id: { type: 'string' },
        scope: { type: 'string' },
      },
    },
  },
}

const limits: Schema = {
  type: 'object',
  additionalProperties: false,
  description: 'What one process takes upon itself.',
  properties: Object.fromEntries(
    Object.entries(LIMITS).map(([name, { from, to, usual, says }]) => [
      limitKey(name),
      { type: 'integer', minimum: from, maximum: to, default: usual, description: says },
    ]),
  ),
}

const workspaces: Schema = {
  type: 'object',
  additionalProperties: false,
  description: 'Where agents work: a folder, a terminal and processes for each conversation.',
  properties: {
    sandbox: { enum: [...CONTAINMENTS], default: 'bubblewrap', description: 'What holds them; local is no sandbox.' },
    folder: { type: 'string', pattern: FOLDER, description: 'Where they lie; in the home without it.' },
    ...Object.fromEntries(
      Object.entries(AMOUNTS).map(([name, { from, to, usual, says }]) => [
        name,
        { type: 'integer', minimum: from, maximum: to, default: usual, description: says },
      ]),
    ),
    egress: {
      type: 'array',
      items: { type: 'string', pattern: DOMAIN },
      description: 'Domains that commands may reach, as example.com or *.example.com; none without it.',
    },
  },
}

/** Published as `docs/config.schema.json`; an editor that knows it completes and checks `config.yaml`. */
export const CONFIG_SCHEMA: Schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Holdfast configuration',
  type: 'object',
  additionalProperties: false,
  properties: {
    model: { type: 'string', description: 'The model of agents that name none, as provider/model.' },
    embedding: {
      type: 'string',
      description: 'The embedding model of agents that name none, as provider/model; without it, search goes by words.',
    },
    embed_messages: {
      type: 'boolean',
      description:
        'Whether what is said is handed to the embedding model too, and not only what agents keep; true if nothing is said.',
    },
    fallback: {
      type: 'array',
      items: { type: 'string' },
      description: 'The chain of agents that have none of their own, as provider/model.',
    },
    providers: {
      type: 'object',
      additionalProperties: provider,
      description: 'Settings by provider; a name that is no vendor’s is a server of your own.',
    },
    limits,
    workspaces,
  },
}
