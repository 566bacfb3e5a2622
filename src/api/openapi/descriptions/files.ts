import type { Parameter } from '../shared-parts.ts'
import { type Descriptions, empty, invalid, json, reference, text, unavailable } from './description.ts'

const cid = 'bafybeiczs2knqj54uvbtp7i52xcvaa3jhhkccltush2nwnshpqozodenpa'
const fileAddress = [
  {
    name: 'address',
    in: 'path',
    required: true,
    description: 'A content identifier or a name, followed by a path below it; percent-encoded except for the slashes.',
    schema: { type: 'string' },
    example: `${cid}/index.html`,
  },
]
const fileName = [
  {
    name: 'address',
    in: 'path',
    required: true,
    description: 'A name that is not a content identifier.',
    schema: { type: 'string' },
    example: 'my-app',
  },
]
function flag(name: string, description: string): Parameter {
  return { name, in: 'query', required: false, description, schema: { type: 'boolean' }, example: 'false' }
}
const refused = json('The address is neither a name nor a content identifier.', 'Error', {
  code: 'ERR_METHOD_NOT_ALLOWED',
  message: 'Method not supported.',
})
const absent = json('Not found.', 'Error', {
  code: 'ERR_NOT_FOUND',
  message: 'The requested resource could not be found.',
})

export const fileDescriptions: Descriptions = {
  'GET /api/v2/files': {
    operationId: 'listFiles',
    summary: 'List all names',
    tag: 'files',
    parameters: [flag('uploads', 'Also list uploads without a name, newest first.')],
    responses: { 200: json('All names.', 'Names', { names: [{ name: 'my-app', cid, size: 129 }] }) },
  },
  'POST /api/v2/files': {
    operationId: 'uploadFiles',
    summary: 'Upload a file, or several files as a directory',
    tag: 'files',
    parameters: [flag('directory', 'Also wrap a single file in a directory.')],
    requestBody: {
      description: 'A multipart form with one part per file; the file name of a part is its path in the directory.',
      content: { 'multipart/form-data': { schema: { type: 'object', properties: { file: { type: 'string' } } } } },
    },
    responses: {
      200: text('The identifier of the file, or of the directory.', 'text/plain', cid),
      400: invalid,
      415: json('The request body is not multipart.', 'Error', {
        code: 'ERR_UNSUPPORTED_MEDIA_TYPE',
        message: "The request's content-type is not supported.",
      }),
      503: unavailable,
    },
  },
  'GET /api/v2/files/{address}': {
    operationId: 'getFile',
    summary: 'Read a file, or list a directory',
    tag: 'files',
    parameters: fileAddress,
    responses: {
      200: {
        description:
          'A file, or a directory: its `index.html` or an HTML listing if `Accept` contains HTML, else a JSON listing.',
        content: {
          'application/json': {
            schema: reference('Listing'),
            example: { directory: { name: '/', cid, children: [{ size: 16, name: 'index.html', cid }] } },
          },
          'text/html': {},
          '*/*': {},
        },
      },
      206: { description: 'The requested byte range.', content: { '*/*': {} } },
      301: { description: 'Redirect to the address with a trailing slash.' },
      304: { description: 'Not modified: `If-None-Match` has the current ETag.' },
      404: absent,
      405: refused,
      416: json('The range is outside of the file.', 'Error', {
        code: 'ERR_RANGE_NOT_SATISFIABLE',
        message: 'The file has 16 bytes, none of which is in the range.',
      }),
    },
  },
  'PUT /api/v2/files/{address}': {
    operationId: 'bindFileName',
    summary: 'Bind a name to a content identifier',
    tag: 'files',
    parameters: fileName,
    requestBody: text('The content identifier.', 'text/plain', cid),
    responses: {
      200: text('The content identifier that the name was bound to before, if any.', 'text/plain', cid),
      405: refused,
    },
  },
  'DELETE /api/v2/files/{address}': {
    operationId: 'unbindFileName',
    summary: 'Unbind a name',
    tag: 'files',
    parameters: fileName,
    responses: {
      200: text('The content identifier that the name was bound to, if any.', 'text/plain', cid),
      405: refused,
    },
  },
  'POST /api/v2/files/prefetch': {
    operationId: 'prefetchFiles',
    summary: 'Prefetch and keep the results of a query; replaces the previous prefetch of this app',
    tag: 'files',
    requestBody: json('A query that returns content identifiers, and how long to keep their content.', 'Prefetch', {
      query: "FROM 'picture' SELECT _.cid",
      duration: { secs: 86400, nanos: 0 },
    }),
    responses: { 204: empty, 400: invalid },
  },
  'POST /api/v2/files/remove': {
    operationId: 'removeFile',
    summary: 'Remove an upload from all nodes',
    tag: 'files',
    requestBody: json('The content identifier of the upload.', 'Removal', { cid }),
    responses: { 204: empty, 400: invalid, 404: absent },
  },
}
