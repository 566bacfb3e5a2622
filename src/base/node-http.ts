/**
 * The values of node:http. An ES import of the module evaluates all its getters, which loads undici and http2: a sixth
 * of the startup time of a node.
 */
export const { Agent, createServer, request, STATUS_CODES } = process.getBuiltinModule('node:http')
