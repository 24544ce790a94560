import type { AdmissionPolicy } from '../core/admission.ts'
import type { RunId, WorkerId } from '../core/id.ts'
import type { Json } from '../core/json.ts'
import type { ProjectedEvent } from '../core/projection.ts'
import type { Run } from '../core/run.ts'
import type { CallbackRequest } from './webhook-store.ts'

export type NewRun = Pick<
  Run,
  'id' | 'organizationId' | 'agentId' | 'conversationId' | 'background' | 'createdAt' | 'continues' | 'openedBy'
> & {
  metadata: Json
  /** Identifies a retried request; another body with the same key is a conflict. */
  idempotency?: { key: string; digest: string }
  request?: RequestIdentity
  /** Webhook for the end of the run, or for a run that awaits approval. */
  callback?: CallbackRequest
}

/** Identifies copies of the same request. */
export type RequestIdentity = {
  /** Hash of the inputs. */
  digest: string
  /** Client-supplied ids of the inputs. */
  otids: string[]
  /** Hash of key, path and body, for retries without otids. */
  fingerprint?: string
  /** The client marked this request as a retry. */
  isRetry: boolean
  /** How long after its request a retry is recognized, if the surface has a time of its own. */
  windowMs?: number
  /** When it arrived, if that was some time before its run is opened: a retry that came later may be faster. */
  arrivedAt?: number
}

export type OpenRun = {
  run: NewRun
  /** The input-accepted event. */
  entry: ProjectedEvent
  policy: AdmissionPolicy
  /** Appended to the running run if the policy interrupts it (cancel-requested). */
  interruption: ProjectedEvent
  /** Appended to the running run if the policy steers it (input-steered). */
  steering: ProjectedEvent
  /** Opens nothing unless this is the newest run of the conversation. */
  onlyAfter?: RunId
  /** Worker that takes the lease in the same commit if no other run is ahead of this one. */
  claimFor?: WorkerId
  /** Queued runs that its organization and its key may have. Absent: no limit. */
  quota?: QueueQuota
}

/** 0 means no limit. */
export type QueueQuota = { organization: number; key: number }

export type OpenedRun =
  | { type: 'opened'; run: Run; interrupted?: RunId }
  /** `request`: the id that this request reserved for a run of its own. */
  | { type: 'steered'; runId: RunId; request: RunId }
  /** `request`: the id that the first copy used; another one than `runId` if that one was steered. */
  | { type: 'repeated'; runId: RunId; request: RunId }
  | { type: 'key-conflict'; runId: RunId }
  /** One of its otids belongs to a run with other inputs. */
  | { type: 'otid-conflict'; runId: RunId }
  | { type: 'refused'; refusal: 'busy' | 'queue-full' | 'pending-approval'; runId?: RunId }
  /** Its organization or its key has this many queued runs, which is the limit. */
  | { type: 'over-quota'; of: keyof QueueQuota; limit: number }
  /** Another run is the newest one. */
  | { type: 'moved-on' }
  | { type: 'no-conversation' }
