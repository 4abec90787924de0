-- Writes items that are locked. Fewer rows than asked: one is missing, and nothing may be committed.
with asked as materialized (
    select * from json_to_recordset(:rows) as r(
        scope smallint, place text, entity text, item text, status text, data text, reason text, task bigint,
        attempt bigint, token text, seq bigint, locked_until timestamptz, changed_at timestamptz, expires_at timestamptz)
), written as (
    update items i set
        status = r.status, data = r.data::json, reason = r.reason, task = r.task, attempt = r.attempt,
        token = r.token, seq = r.seq, locked_until = r.locked_until, changed_at = r.changed_at, expires_at = r.expires_at
    from asked r
    where i.scope = r.scope and i.place = r.place and i.entity = r.entity and i.item = r.item
    returning 1
)
select confirmed((select count(*) from asked), (select count(*) from written)) as written
