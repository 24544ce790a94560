import { defined } from '../../core/defined.ts'
import type { AccountSettings } from '../../core/gateway/settings.ts'
import type { WireEvent } from './read-event.ts'

export type Invite = { by: string; isPublic: boolean }

/**
 * `since`: the token of `/sync` up to which everything is committed. `newest`: when the last of that was said, for a
 * homeserver that forgot the token; then `gap` is from when on the rooms are read. `invites`: those not followed yet, because
 * `/sync` tells of each only once.
 */
export type Cursor = { since?: string; newest?: number; gap?: number; invites?: Record<string, Invite> }

const MOST_INVITES = 200

export function parseCursor(text: string | undefined): Cursor {
  try {
    return text === undefined ? {} : (JSON.parse(text) as Cursor)
  } catch {
    return {}
  }
}

/** The oldest go first, so that strangers cannot fill the cursor. */
export function withInvites(cursor: Cursor, more: Record<string, Invite>): Cursor {
  const all = Object.entries({ ...cursor.invites, ...more }).slice(-MOST_INVITES)
  return { ...cursor, ...defined({ invites: all.length === 0 ? undefined : Object.fromEntries(all) }) }
}

export function withoutInvite({ invites = {}, ...rest }: Cursor, rooms: readonly string[]): Cursor {
  const left = Object.entries(invites).filter(([room]) => !rooms.includes(room))
  return { ...rest, ...defined({ invites: left.length === 0 ? undefined : Object.fromEntries(left) }) }
}

export function inviteOf(events: readonly WireEvent[], bot: { id: string }): Invite | undefined {
  const own = events.find(({ type, state_key }) => type === 'm.room.member' && state_key === bot.id)
  if (own?.sender === undefined) return undefined
  const rules = events.find(({ type }) => type === 'm.room.join_rules')
  return { by: own.sender, isPublic: rules?.content?.join_rule === 'public' }
}

type Access = Pick<AccountSettings, 'access' | 'allow' | 'groups'>

/**
 * Rooms that are configured, those of people who may talk, and what strangers may open to be paired: no public rooms, which may be
 * large.
 */
export function follows(room: string, { by, isPublic }: Invite, { access, allow, groups }: Access): boolean {
  if (access === 'disabled') return false
  if (room in groups || allow.includes(by) || allow.includes('*')) return true
  return access !== 'allowlist' && !isPublic
}
