import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gatewayAccounts } from './gateway-settings.ts'

const accountsWith = (approvals_to: { account: string; chat: string | number }, approvers = ['U0000BOSS']) =>
  gatewayAccounts({
    accounts: {
      family: { approvals_to },
      desk: { platform: 'slack', approvers, groups: { C0000TEAM: {} } },
      rooms: { platform: 'matrix', approvers: ['@ada:example.org'] },
    },
    toolsets: {},
    environment: {},
  })

test('approvals go to an approver or a group of a configured account; anything else is refused with the key', () => {
  const { family } = accountsWith({ account: 'desk', chat: 'U0000BOSS' })
  assert.deepEqual(family?.approvalsTo, { account: 'desk', chatId: 'U0000BOSS', isPrivate: true })
  assert.equal(accountsWith({ account: 'desk', chat: 'C0000TEAM' }).family?.approvalsTo?.isPrivate, false)
  const bare = { accounts: { a: { approvals_to: { account: 'a' } } }, toolsets: {}, environment: {} }
  assert.throws(() => gatewayAccounts(bare), /gateway\.a\.approvals_to needs both keys/)
  const wrong = (account: string, chat: string, approvers?: string[]) => () =>
    accountsWith({ account, chat }, approvers)
  assert.throws(wrong('desc', 'U0000BOSS'), /gateway\.family\.approvals_to\.account names "desc".*family, desk, rooms/)
  assert.throws(wrong('toString', 'U0000BOSS'), /approvals_to\.account names "toString"/)
  assert.throws(wrong('desk', 'U0000EVE'), /approvals_to\.chat is "U0000EVE", which is neither a person in/)
  assert.throws(wrong('desk', '*', ['*']), /approvals_to\.chat is "\*"/)
  assert.throws(wrong('desk', 'C0000TEAM', []), /approvals_to: no person could decide there.*gateway\.desk\.approvers/)
  assert.throws(wrong('rooms', '@ada:example.org'), /approvals_to\.chat: on Matrix it is the id of a room/)
})
