-- Looks which of these queues (a JSON list) have a ready task. A missing row: none is ready there.
select q.value as queue
from json_each(:queues) as q
where exists (select 1 from tasks k where k.queue = q.value and k.status = 'queued' and not k.parked)
