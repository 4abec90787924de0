-- Writes tasks. Fewer rows than asked: one is missing, and nothing may be committed.
with asked as materialized (
    select * from json_to_recordset(:rows) as r(
        id bigint, status text, parked boolean, attempt bigint, failures bigint,
        claimed_by text, lease_until timestamptz, queued_at timestamptz, awaiting text,
        has_items boolean)
), written as (
    update tasks t set
        status = r.status, parked = r.parked, attempt = r.attempt, failures = r.failures,
        claimed_by = r.claimed_by, lease_until = r.lease_until, queued_at = r.queued_at,
        awaiting = r.awaiting::json, has_items = r.has_items
    from asked r
    where t.id = r.id
    returning 1
)
select confirmed((select count(*) from asked), (select count(*) from written)) as written
