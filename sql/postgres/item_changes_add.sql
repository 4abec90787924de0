-- Adds what became of items, in the order of the rows. It answers no rows.
insert into item_changes (scope, place, entity, item, at, status, data, reason, token, seq, task, attempt)
select r.scope, r.place, r.entity, r.item, r.changed_at, r.status, r.data::json, r.reason, r.token, r.seq, r.task, r.attempt
from json_to_recordset(:rows) as r(
        scope smallint, place text, entity text, item text, status text, data text, reason text, task bigint,
        attempt bigint, token text, seq bigint, changed_at timestamptz)
