"""Names of spans' attributes and metrics.

`http.*`, `server.*`, `url.*` and `error.type` are those of OpenTelemetry's semantic conventions 1.44.0. The GenAI
conventions are in a repository of their own (open-telemetry/semantic-conventions-genai), which has no package; names of
memory operations are as of its commit 7e7e4e76. What no convention names begins with "nscma.".
"""

from __future__ import annotations

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
STORE = "gen_ai.memory.store.id"
RECORDS = "gen_ai.memory.record.count"
MODEL = "gen_ai.request.model"
MAX_TOKENS = "gen_ai.request.max_tokens"
TEMPERATURE = "gen_ai.request.temperature"
STREAM = "gen_ai.request.stream"
OUTPUT_TYPE = "gen_ai.output.type"
FINISH_REASONS = "gen_ai.response.finish_reasons"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
TOKEN_TYPE = "gen_ai.token.type"
ERROR = "error.type"
ADDRESS = "server.address"
PORT = "server.port"
HTTP_METHOD = "http.request.method"
HTTP_ROUTE = "http.route"
HTTP_STATUS = "http.response.status_code"
SCHEME = "url.scheme"

METHOD = "nscma.operation"
RESULTS = "nscma.result.count"
ABSTAINED = "nscma.answer.abstained"
PROMPTS = "nscma.prompt.count"
JOB = "nscma.job.kind"
JOBS = "nscma.job.count"

OPERATION_SECONDS = "gen_ai.client.operation.duration"
TOKENS = "gen_ai.client.token.usage"
REQUEST_SECONDS = "http.server.request.duration"
JOB_SECONDS = "nscma.job.duration"
