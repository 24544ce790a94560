import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressGroup } from './address-group.ts'

test('addresses of one IPv6 /64 network, and IPv4 addresses in both spellings, count as one client', () => {
  const same = [
    ['203.0.113.7', '::ffff:203.0.113.7', '::FFFF:203.0.113.7'],
    ['2a00:1450:4001:80b::1', '2a00:1450:4001:080b:1:2:3:4', '2A00:1450:4001:80B:ffff::'],
    ['::1', '0:0:0:0:0:0:0:2', '::'],
    ['fe80::1%eth0', 'fe80::2'],
  ]
  for (const group of same) assert.equal(new Set(group.map(addressGroup)).size, 1, group.join())
  assert.equal(new Set(same.map(([first]) => addressGroup(first!))).size, same.length)
  assert.notEqual(addressGroup('203.0.113.7'), addressGroup('203.0.113.8'))
})
