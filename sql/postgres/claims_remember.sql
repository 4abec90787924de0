-- Keeps the last claim of each supervisor that carried a request id. It answers no rows.
insert into claims (supervisor, request, grants)
select r.supervisor, r.request, r.grants::json
from json_to_recordset(:rows) as r(
        supervisor text, request text, grants text)
order by r.supervisor
on conflict (supervisor) do update set request = excluded.request, grants = excluded.grants
