// Connect to WebSocket
const ws = new WebSocket(`ws://localhost:8081/api/prompts/ws/${promptId}`);

// Handle connection open
ws.onopen = function() {
  console.log('Connected to WebSocket');
};

// Handle messages from server
ws.onmessage = function(event) {
  const message = JSON.parse(event.data);
  
  switch(message.action) {
    case 'initial':
      // Update UI with initial content
      editor.setValue(message.content);
      break;
    case 'update_status':
      // Show update status
      showToast(message.success ? 'Saved!' : 'Save failed');
      break;
    case 'update':
      // Update content from other clients
      editor.setValue(message.content);
      break;
    case 'expanded':
      // Show expanded content
      previewElement.innerHTML = message.expanded;
      break;
  }
};

// Send an update to the server
function sendUpdate(content) {
  ws.send(JSON.stringify({
    action: 'update',
    content: content
  }));
}

// Handle errors
ws.onerror = function(error) {
  console.error('WebSocket Error:', error);
  // Fall back to REST API
  fallbackToRestApi();
};

// Handle disconnection
ws.onclose = function(event) {
  console.log('WebSocket Closed:', event.code, event.reason);
  // Attempt reconnection
  setTimeout(reconnect, 3000);
};
