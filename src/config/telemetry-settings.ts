import { setting } from './setting.ts'
import { anyText, headerList, plainHttpUrl, trueOrFalse, wholeNumber } from './setting-kinds.ts'

/** `telemetry` of config.yaml. The variables are those of OpenTelemetry where it has one. */
export const TELEMETRY = {
  endpoint: setting(plainHttpUrl, {
    variable: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    description: 'The OpenTelemetry collector (OTLP over HTTP) that gets traces and metrics, without `/v1/traces`',
    defaultText: 'none: nothing is exported',
  }),
  headers: setting(headerList, {
    variable: 'OTEL_EXPORTER_OTLP_HEADERS',
    description: 'Headers sent to it, such as a key; in the variable as `name=value,name=value`',
    defaultText: 'none',
  }),
  service_name: setting(anyText, {
    variable: 'OTEL_SERVICE_NAME',
    description: 'The name of this service in traces and metrics',
    default: 'holdfast',
  }),
  content: setting(trueOrFalse, {
    description: 'Whether traces contain the text of messages, and inputs and outputs of tools',
    default: false,
  }),
  metrics_seconds: setting(wholeNumber(0, 86_400), {
    description: 'How often metrics are pushed; 0: only traces are exported',
    unit: 'seconds',
    default: 60,
  }),
}
