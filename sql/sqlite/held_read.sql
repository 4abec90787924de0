-- What a family holds, in order of arrival. Zero rows: nothing is held.
select h.arrival, h.token, h.event, h.payload, h.key, h.task, h.state, h.visit,
       h.context, h.schedules
from held h where h.root = :root order by h.arrival
