-- Writes flows, new ones too. Fewer rows than asked: one has another schema, and nothing may be committed.
insert into flows (task, token, schema_version, revision, input, last_message, message_at, created_at, updated_at,
                   step_count, size)
select r.value ->> 'task', r.value ->> 'token', r.value ->> 'schema_version', r.value ->> 'revision',
       r.value ->> 'input', r.value ->> 'last_message', r.value ->> 'message_at', r.value ->> 'created_at',
       r.value ->> 'updated_at', r.value ->> 'step_count', r.value ->> 'size'
from json_each(:rows) as r where true
on conflict (task) do update set
    revision = excluded.revision, last_message = excluded.last_message,
    message_at = excluded.message_at, updated_at = excluded.updated_at,
    step_count = excluded.step_count, size = excluded.size
where flows.schema_version = excluded.schema_version
returning 1 as written
