import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isPublicAddress } from './public-address.ts'

/** Spellings of private addresses, as hosts of a URL. */
const DISGUISES = [
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '2130706433',
  '0x7f000001',
  '0x7f.0.0.1',
  '017700000001',
  '0177.0.0.1',
  '0177.0.0.01',
  '127.000.000.001',
  '１２７.0.0.1',
  '127。0。0。1',
  '%31%32%37.0.0.1',
  '0',
  '0.0.0.0',
  '10.0.0.1',
  '10.255.255.255',
  '012.0.0.1',
  '100.64.0.1',
  '100.127.255.255',
  '169.254.169.254',
  '2852039166',
  '0xa9fea9fe',
  '0251.0376.0251.0376',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.1',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.0.1',
  '3232235521',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
  '[::]',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::ffff:10.0.0.1]',
  '[::ffff:169.254.169.254]',
  '[::ffff:8.8.8.8]',
  '[::ffff:0:127.0.0.1]',
  '[::127.0.0.1]',
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b::8.8.8.8]',
  '[64:ff9b:1::1]',
  '[100::1]',
  '[2001::1]',
  '[2001:db8::1]',
  '[2002:7f00:1::]',
  '[2002:a9fe:a9fe::]',
  '[3fff::1]',
  '[5f00::1]',
  '[fc00::1]',
  '[fd00:ec2::254]',
  '[fe80::1]',
  '[fec0::1]',
  '[ff02::1]',
]

test('no spelling of a private address counts as public', () => {
  for (const disguise of DISGUISES) {
    const { hostname } = new URL(`http://${disguise}/`)
    assert.equal(isPublicAddress(hostname.replace(/^\[|\]$/g, '')), false, `${disguise} is ${hostname}`)
  }
})

test('addresses next to private ranges are public', () => {
  const neighbors = [
    '1.1.1.1',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
    '169.253.255.255',
    '169.255.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.255.255',
    '192.169.0.0',
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
    '2606:4700:4700::1111',
    '2a00:1450:4001::1',
  ]
  for (const address of neighbors) assert.equal(isPublicAddress(address), true, address)
})

test('text that is not an address is not public', () => {
  for (const text of ['', 'example.org', '1.2.3', '1.2.3.4.5', 'fe80::1%eth0', '::g'])
    assert.equal(isPublicAddress(text), false)
})
