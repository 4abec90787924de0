-- Writes flows, new ones too. Fewer rows than asked: one has another schema, and nothing may be committed.
with asked as materialized (
    select * from json_to_recordset(:rows) as r(
        task bigint, token text, schema_version integer, revision bigint, input text, last_message text,
        message_at timestamptz, created_at timestamptz, updated_at timestamptz, step_count bigint, size bigint)
), written as (
    insert into flows (task, token, schema_version, revision, input, last_message, message_at, created_at, updated_at,
                       step_count, size)
    select r.task, r.token, r.schema_version, r.revision, r.input::json, r.last_message, r.message_at,
           r.created_at, r.updated_at, r.step_count, r.size
    from asked r order by r.task
    on conflict (task) do update set
        revision = excluded.revision, last_message = excluded.last_message,
        message_at = excluded.message_at, updated_at = excluded.updated_at,
        step_count = excluded.step_count, size = excluded.size
    where flows.schema_version = excluded.schema_version
    returning 1
)
select confirmed((select count(*) from asked), (select count(*) from written)) as written
