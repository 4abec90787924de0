-- Writes steps of flows, new ones too. It answers no rows.
insert into steps (task, name, seq, kind, status, result, correlation, answered, message, child, on_lost, attempt,
                   revision, opened_at, completed_at, fault, failures, workflow, input_hash, fail_on_failure)
select r.task, r.name, r.seq, r.kind, r.status, r.result::json, r.correlation, r.answered, r.message, r.child,
       r.on_lost, r.attempt, r.revision, r.opened_at, r.completed_at, r.fault, r.failures,
       r.workflow, r.input_hash, r.fail_on_failure
from json_to_recordset(:rows) as r(
        task bigint, name text, seq bigint, kind text, status text, result text, correlation text, answered text,
        message text, child text, on_lost text, attempt bigint, revision bigint, opened_at timestamptz,
        completed_at timestamptz, fault text, failures bigint, workflow text, input_hash text,
        fail_on_failure boolean)
order by r.task, r.name
on conflict (task, name) do update set
    kind = excluded.kind, status = excluded.status, result = excluded.result, correlation = excluded.correlation,
    answered = excluded.answered, message = excluded.message, child = excluded.child, on_lost = excluded.on_lost,
    attempt = excluded.attempt, revision = excluded.revision, opened_at = excluded.opened_at,
    completed_at = excluded.completed_at, fault = excluded.fault, failures = excluded.failures,
    workflow = excluded.workflow, input_hash = excluded.input_hash, fail_on_failure = excluded.fail_on_failure
