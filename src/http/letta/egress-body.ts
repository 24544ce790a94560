import { z } from 'zod'
import { MAX_EGRESS_DOMAINS, parseDomain } from '../../core/egress-domain.ts'

const FORMS = 'example.com, *.example.com, example.com:8443, or `holdfast` for this server'

/** A list of domains; null for none. */
export const egressBody = (text: string) =>
  z
    .array(z.string().refine((one) => parseDomain(one) !== undefined, `must be a domain: ${FORMS}`))
    .max(MAX_EGRESS_DOMAINS)
    .nullish()
    .describe(`${text} Forms: ${FORMS}. Only Holdfast has this field.`)
