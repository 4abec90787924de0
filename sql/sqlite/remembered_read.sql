-- The last claim of each supervisor (a JSON list of names) that carried a request id. A missing row: none.
select c.supervisor, c.request, c.grants
from claims c where c.supervisor in (select value from json_each(:supervisors))
