export { LogFilter } from './filter.ts'
export { type Format, jsonLine, textLine } from './format.ts'
export { Logger, type LogOutput, logOutput } from './logger.ts'
export { descriptorSink, type Sink } from './sink.ts'
