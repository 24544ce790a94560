import { DIALECTS } from '../../core/message.ts'

/** Printed by `holdfast simulate --help` below the options. */
export const SIMULATE_HELP = `
The simulator listens on loopback only and contacts no other server. Answers are deterministic, and delayed only where the
script says so. Every path may have a prefix, so that one port can simulate several providers.

A script is a JSON list of rules. The first rule that matches answers; without a match the last message is echoed.

  [
    { "when": { "model": "big" }, "times": 2, "answer": { "error": "rate-limit-with-retry-after" } },
    { "when": { "lastContains": "weather" },
      "answer": { "calls": [{ "name": "forecast", "arguments": { "city": "Bergen" } }] } },
    { "when": { "attempt": 5 }, "answer": { "text": "a long story", "breaks": { "how": "reset", "atByte": 200 } } },
    { "answer": { "text": "Hello.", "pace": { "beforeFirstChunkMs": 300, "everyMs": 20 } } }
  ]

when    model, key, path, protocol (${DIALECTS.join(', ')}; and models, embeddings, oauth,
        account, copilot, which a rule matches only if it names them), attempt (counts the requests that match the other
        conditions, from 1), contains, lastContains, headers, streams, hasTools, hasImages, hasToolImages, hasSignatures,
        hasEncrypted, maxTokensAbove, messagesAbove, bytesAbove
times   how often the rule answers before the next matching rule takes over
answer  one of
  a model's reply     text, reasoning { text, signature, encrypted, redacted, field }, calls [{ id, name, arguments or
                      json }], refusal, usage { input, output, cached, written, reasoning } or "none", finish (stop, length,
                      tool-calls, refusal, pause), callIds (once, repeated, changed, shared), pace { beforeHeadersMs,
                      beforeFirstChunkMs, everyMs, charactersPerChunk, bytesPerWrite }, breaks (one or a list)
  a vendor's error    error, with message, status, headers, retryAfterSeconds, limit, pace to override the defaults
  any HTTP response   status, headers, body, pace
  a connection fault  line: silent, reset, cut, or refuse with forMs (the port is closed for that time)

breaks  how: reset, cut, end, stall (atByte or afterChunks); no-finish; pings (everyMs, count); malformed, duplicate, joined
        (chunk); error-event (error, afterChunks, as: event or failed)
error   rate-limit, rate-limit-with-retry-after, upstream-429, overloaded, overloaded-as-429, insufficient-quota,
        payment-required, payment-window, invalid-key, revoked, expired, forbidden, context-overflow,
        context-overflow-with-window, output-cap, unknown-parameter, signature-rejected, encrypted-rejected,
        image-too-large, image-corrupt, tool-image, grammar, long-context-beta, long-context-tier, model-not-found,
        content-policy, policy-blocked, payload-too-large, invalid-request, server-error, gateway-timeout, html-502, html-200

Keys: without --key every key is accepted; with it, all other keys are refused.

While it runs:
  curl -X PUT  URL/simulator/keys/sk-test -d revoked     (or limited:30, valid, …)
  curl -X PUT  URL/simulator/script -d @script.json
  curl -X POST "URL/simulator/down?forMs=5000"           the port is closed for that time
  curl -X POST URL/simulator/reset
  curl         URL/simulator/requests
`
