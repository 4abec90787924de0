-- Writes steps of flows, new ones too. It answers no rows.
insert into steps (task, name, seq, kind, status, result, correlation, answered, message, child, on_lost,
                   attempt, revision, opened_at, completed_at, fault, failures, workflow, input_hash,
                   fail_on_failure)
select r.value ->> 'task', r.value ->> 'name', r.value ->> 'seq', r.value ->> 'kind', r.value ->> 'status',
       r.value ->> 'result', r.value ->> 'correlation', r.value ->> 'answered', r.value ->> 'message',
       r.value ->> 'child', r.value ->> 'on_lost', r.value ->> 'attempt', r.value ->> 'revision',
       r.value ->> 'opened_at', r.value ->> 'completed_at',
       r.value ->> 'fault', r.value ->> 'failures', r.value ->> 'workflow', r.value ->> 'input_hash',
       r.value ->> 'fail_on_failure'
from json_each(:rows) as r where true
on conflict (task, name) do update set
    kind = excluded.kind, status = excluded.status, result = excluded.result,
    correlation = excluded.correlation, answered = excluded.answered, message = excluded.message,
    child = excluded.child, on_lost = excluded.on_lost, attempt = excluded.attempt,
    revision = excluded.revision, opened_at = excluded.opened_at, completed_at = excluded.completed_at,
    fault = excluded.fault, failures = excluded.failures,
    workflow = excluded.workflow, input_hash = excluded.input_hash, fail_on_failure = excluded.fail_on_failure
