import { type Descriptions, empty, invalid, json, unavailable } from './description.ts'

const blobPath = [
  {
    name: 'app',
    in: 'path',
    required: true,
    description: 'An app ID, or `-` for the app of the token.',
    schema: { type: 'string' },
    example: '-',
  },
  {
    name: 'path',
    in: 'path',
    required: true,
    description: 'Everything after the app, slashes included, taken verbatim.',
    schema: { type: 'string' },
    example: 'settings/colour',
  },
]

export const blobDescriptions: Descriptions = {
  'GET /api/v2/blob/{app}/{path}': {
    operationId: 'getBlob',
    summary: 'Read a blob, or list a folder of blobs',
    tag: 'blobs',
    parameters: blobPath,
    responses: {
      200: { description: 'The blob with its content type, or the JSON listing of a folder.', content: { '*/*': {} } },
      204: empty,
      400: invalid,
      406: json('The `Accept` header excludes the content type of the blob.', 'Error', {
        code: 'ERR_NOT_ACCEPTABLE',
        message: "Content with type 'text/html' was requested but …",
      }),
    },
  },
  'PUT /api/v2/blob/{app}/{path}': {
    operationId: 'putBlob',
    summary: 'Store a blob of the calling app',
    tag: 'blobs',
    parameters: blobPath,
    requestBody: { required: true, content: { '*/*': { schema: {} } } },
    responses: { 204: empty, 400: invalid, 503: unavailable },
  },
  'DELETE /api/v2/blob/{app}/{path}': {
    operationId: 'deleteBlob',
    summary: 'Delete a blob, and everything below its path',
    tag: 'blobs',
    parameters: blobPath,
    responses: { 204: empty, 400: invalid, 503: unavailable },
  },
  'POST /api/v2/blob/{app}/{path}': {
    operationId: 'postBlob',
    summary: 'Reserved',
    tag: 'blobs',
    parameters: blobPath,
    responses: { 204: empty },
  },
}
