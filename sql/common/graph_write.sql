-- Puts the graph on record, and who serves since when. Zero rows: another control plane has raised the epoch.
update control_plane
set structure = :structure, checksum = :checksum, graph = :graph, serving = :serving, since = :since
where epoch = :epoch
returning epoch
